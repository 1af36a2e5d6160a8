#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe::device {

/// A collective as its group's watch sees it. Thread-safe.
class Watched {
 public:
  /// `what` names the collective in texts. `parts` has the part of every rank of this process.
  Watched(std::string what, Communicator::Parts parts) : what_(std::move(what)) {
    for (const auto& part : parts) ready_.push_back(part.ready);
  }
  virtual ~Watched() = default;

  /// True if a rank of this process waits in the collective, or has completed it.
  bool has_begun() const { return std::ranges::any_of(ready_, &Event::done); }
  virtual bool is_done() const = 0;
  /// The collective, and what it waits for: see Work::waits_for.
  virtual std::string description() const = 0;

 protected:
  const std::string& what() const { return what_; }
  const std::vector<Event>& ready() const { return ready_; }

 private:
  const std::string what_;
  std::vector<Event> ready_;
};

/// The end of a group: a thread that watches the time of its collectives, and the reason once the group has ended.
/// Thread-safe.
class GroupWatch {
 public:
  struct Hooks {
    /// Returns a failure that a library has found, or null. Any thread.
    std::function<FailurePtr()> look = {};
    /// Releases the devices of a group that has ended by itself.
    std::function<void(const FailurePtr&)> release = {};
  };

  /// The hooks are called on the watch's thread until it is destroyed, which waits for them.
  GroupWatch(std::chrono::milliseconds limit, Hooks hooks);
  ~GroupWatch();
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  std::chrono::milliseconds limit() const { return limit_; }
  /// Watches a collective from now on, after those before.
  void add(std::shared_ptr<const Watched> collective);

  /// Returns the result of a function that begins a collective. The group ends by itself if the function throws. Throws
  /// Aborted if the group has ended.
  template <class Function>
  auto begin(Function function) {
    check();
    try {
      return function();
    } catch (...) {
      fail(root_failure({}));
      throw;
    }
  }
  /// Throws Aborted if the group has ended.
  void check() const { abort_.check(); }
  /// The reason why the group has ended; null if it has not.
  FailurePtr failure();
  /// Ends the group from outside, and forgets its collectives. Returns false if it had ended before.
  bool end(FailurePtr failure);
  /// Ends the group by itself: the thread calls the callback of on_failed(), and then releases the devices.
  void fail(FailurePtr failure);
  /// See Communicator::on_failed.
  void on_failed(Communicator::OnFailed callback);

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  /// Forgets what is done. A failure if the first of the others is late.
  FailurePtr look_at_first();
  void drop_done();
  void tell(std::unique_lock<std::mutex>& lock);

  const std::chrono::milliseconds limit_, interval_;  // between looks while collectives are pending
  const Hooks hooks_;
  Abort abort_;
  std::mutex callback_mutex_;
  Communicator::OnFailed callback_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Watched>> pending_;
  bool watching_ = false;  // true from the first collective until all are done and the library was asked after that
  std::optional<Clock::time_point> begun_;  // when the first pending collective was seen to have begun
  FailurePtr to_tell_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace troupe::device
