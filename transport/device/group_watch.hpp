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

/// The state of a collective as far as GroupWatch needs it. Thread-safe.
class Watched {
 public:
  /// `what` names the collective in error texts. `parts` has the part of every rank of this process.
  Watched(std::string what, Communicator::Parts parts) : what_(std::move(what)) {
    for (const auto& part : parts) ready_.push_back(part.ready);
  }
  virtual ~Watched() = default;

  /// True if the tensors of at least one rank of this process are ready, so that the rank waits in the collective or
  /// has completed it.
  bool has_begun() const { return std::ranges::any_of(ready_, &Event::done); }
  virtual bool is_done() const = 0;
  /// The name of the collective and the ranks or devices that it waits for, as in Work::waits_for.
  virtual std::string description() const = 0;

 protected:
  const std::string& what() const { return what_; }
  const std::vector<Event>& ready() const { return ready_; }

 private:
  const std::string what_;
  std::vector<Event> ready_;
};

/// Ends a group of devices and keeps the reason. A caller may end the group; a thread of this object, the watch's
/// thread, ends it if a collective takes longer than the limit, or if a library reports a failure. Thread-safe.
class GroupWatch {
 public:
  struct Hooks {
    /// Returns a failure that a library has found, or null. Called on any thread.
    std::function<FailurePtr()> look = {};
    /// Releases the devices of a group that fail() has ended.
    std::function<void(const FailurePtr&)> release = {};
  };

  /// `limit` is the time that a collective may take. The hooks are called on the watch's thread; failure() also calls
  /// `look` on the caller's thread. The destructor waits until the watch's thread calls no hook any more.
  GroupWatch(std::chrono::milliseconds limit, Hooks hooks);
  ~GroupWatch();
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  std::chrono::milliseconds limit() const { return limit_; }
  /// Watches a collective after those that were added before: the limit counts for the first one that is not done. Does
  /// nothing if the group has ended.
  void add(std::shared_ptr<const Watched> collective);

  /// Calls a function that begins a collective and returns its result. If the function throws, ends the group as fail()
  /// does, and rethrows. Throws Aborted if the group has ended before.
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
  /// Returns the reason why the group has ended; null if it has not. Asks the hook `look` first, and ends the group if
  /// the hook returns a failure.
  FailurePtr failure();
  /// Ends the group for a caller: neither the callback of on_failed() nor the hook `release` is called. Drops the
  /// collectives. Returns false if the group had ended before; then the reason stays the first one.
  bool end(FailurePtr failure);
  /// Ends the group after a failure: the watch's thread calls the callback of on_failed(), and then the hook `release`.
  /// Does nothing if the group has ended before.
  void fail(FailurePtr failure);
  /// See Communicator::on_failed.
  void on_failed(Communicator::OnFailed callback);

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  /// Drops the collectives that are done. Returns a failure if the first of the others has taken longer than the limit,
  /// else null.
  FailurePtr look_at_first();
  void drop_done();
  void tell(std::unique_lock<std::mutex>& lock);

  const std::chrono::milliseconds limit_, interval_;  // interval_: between two looks while collectives are pending
  const Hooks hooks_;
  Abort abort_;
  std::mutex callback_mutex_;
  Communicator::OnFailed callback_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Watched>> pending_;
  bool watching_ = false;                   // true from the first pending collective until the thread sees none pending
  std::optional<Clock::time_point> begun_;  // when the first pending collective was seen to have begun
  FailurePtr to_tell_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace troupe::device
