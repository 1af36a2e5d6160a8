#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Owns a thread that polls events and runs their callbacks when they are done, for backends whose events have no
/// callbacks. The thread sleeps while it watches no event. Thread-safe.
class EventPoller {
 public:
  EventPoller() = default;
  /// Ends the thread and waits for it. The thread still runs the callbacks of events that its current poll found done;
  /// callbacks of other events are never called.
  ~EventPoller();
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  /// Calls `callback` once on the poller's thread when the event is done. The callback must not block. The first call
  /// of watch() starts the thread. After end() a call of watch() does nothing, and its callback is never called.
  void watch(std::shared_ptr<Event::State> event, std::function<void()> callback);

  /// Ends polling. The thread still runs the callbacks of events that its current poll found done; callbacks of other
  /// events are never called. Waits at most `limit` for the callbacks that still run, and returns false if they have
  /// not returned by then. After end() has returned true, the poller has no thread.
  bool end(std::chrono::nanoseconds limit);

 private:
  /// An event and the callbacks that wait for it.
  struct Watched {
    std::shared_ptr<Event::State> event;
    std::vector<std::function<void()>> callbacks;
  };

  void work();
  /// Moves the events in `added_` to `watched_`. If `idle`, first waits until an event is added or the poller ends.
  /// `lock` must hold `mutex_`.
  void take_added(std::unique_lock<std::mutex>& lock, bool idle);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> added_;
  bool ending_ = false, working_ = false;
  std::thread thread_;
  std::vector<Watched> watched_;  // used only by the poller's thread, without `mutex_`
};

}  // namespace troupe
