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

/// The base of the collectives that a GroupWatch watches. It says whether a collective has begun or is done, and names
/// it in error texts. Thread-safe.
class Watched {
 public:
  /// `what` names the collective in error texts. `parts` has the part of every rank of this process; their Part::ready
  /// events are kept.
  Watched(std::string what, Communicator::Parts parts) : what_(std::move(what)) {
    for (const auto& part : parts) ready_.push_back(part.ready);
  }
  virtual ~Watched() = default;

  /// Returns true if the Part::ready event of at least one rank of this process is done: this rank waits in the
  /// collective or has completed it.
  bool has_begun() const { return std::ranges::any_of(ready_, &Event::done); }
  virtual bool is_done() const = 0;
  /// Returns, for an error text, the name of the collective and the ranks or devices for which it waits.
  virtual std::string description() const = 0;

 protected:
  const std::string& what() const { return what_; }
  const std::vector<Event>& ready() const { return ready_; }

 private:
  const std::string what_;
  std::vector<Event> ready_;
};

/// Watches the collectives of a group of devices. A thread of this object, the watch's thread, ends the group if a
/// collective takes longer than the limit, or if the hook `look` returns a failure. A caller may end the group, too. An
/// ended group begins no collective; the watch keeps the reason. Thread-safe.
class GroupWatch {
 public:
  struct Hooks {
    /// Returns a failure that a communication library, such as NCCL, has found in the background, or null. Called on
    /// the watch's thread, and on the thread of a caller of failure(). Empty if there is no such library.
    std::function<FailurePtr()> look = {};
    /// Called on the watch's thread after fail() has ended the group. Must free the devices from collectives that are
    /// launched and not done. Empty if nothing can be done.
    std::function<void(const FailurePtr&)> release = {};
  };

  /// `limit` is the time that a collective may take. The constructor starts the watch's thread. The destructor waits
  /// for the thread's end, so no hook is called after it.
  GroupWatch(std::chrono::milliseconds limit, Hooks hooks);
  ~GroupWatch();
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  std::chrono::milliseconds limit() const { return limit_; }
  /// Adds a collective. Its time counts from when all collectives added before it are done and Watched::has_begun() is
  /// true. Does nothing if the group has ended.
  void add(std::shared_ptr<const Watched> collective);

  /// Calls `function`, which begins a collective, and returns its result. If `function` throws, ends the group as
  /// fail() does, and rethrows. If the group has ended before the call, throws Aborted without calling `function`.
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
  /// Returns the reason why the group has ended, or null if it has not. If the group has not ended, calls the hook
  /// `look` first, and ends the group as fail() does if the hook returns a failure.
  FailurePtr failure();
  /// Ends the group with the reason `failure`, and drops the added collectives. Calls neither the callback of
  /// on_failed() nor the hook `release`. Returns false, and keeps the first reason, if the group had ended before.
  bool end(FailurePtr failure);
  /// Ends the group with the reason `failure`. The watch's thread then calls the callback of on_failed(), and after it
  /// the hook `release`. Does nothing if the group has ended before.
  void fail(FailurePtr failure);
  /// Sets the callback that the watch's thread calls after fail(); see Communicator::on_failed().
  void on_failed(Communicator::OnFailed callback);

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  /// Drops the collectives at the front of pending_ that are done. Returns a failure if the first of the others has
  /// taken longer than the limit, else null.
  FailurePtr look_at_first();
  void drop_done();
  void tell(std::unique_lock<std::mutex>& lock);

  const std::chrono::milliseconds limit_, interval_;  // interval_: the pause between two checks of pending_
  const Hooks hooks_;
  Abort abort_;
  std::mutex callback_mutex_;
  Communicator::OnFailed callback_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Watched>> pending_;
  bool watching_ = false;                   // pending_ is not empty, or thread_ has not yet seen that it is
  std::optional<Clock::time_point> begun_;  // when thread_ saw that the first pending collective had begun
  FailurePtr to_tell_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace troupe::device
