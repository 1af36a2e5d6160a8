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

/// A thread that polls events and calls back when they are done, for backends whose events have no callbacks. It sleeps
/// while it has no event. Thread-safe.
class EventPoller {
 public:
  EventPoller() = default;
  /// Waits for the callback that is running. Callbacks of events that are not done are dropped.
  ~EventPoller();
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  /// Calls `callback` once on the poller's thread when the event is done. The callback must not block. The first call
  /// starts the thread. Calls after end() are ignored.
  void watch(std::shared_ptr<Event::State> event, std::function<void()> callback);

  /// Ends polling: callbacks that have not run yet are dropped. Waits at most `limit` for a callback that is running
  /// and returns false if it has not returned by then. After true the poller has no thread.
  bool end(std::chrono::nanoseconds limit);

 private:
  /// An event and the callbacks that wait for it.
  struct Watched {
    std::shared_ptr<Event::State> event;
    std::vector<std::function<void()>> callbacks;
  };

  void work();
  /// Moves the new events to `watched_`; an idle thread waits for one first.
  void take_added(std::unique_lock<std::mutex>& lock, bool idle);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> added_;
  bool ending_ = false, working_ = false;
  std::thread thread_;
  std::vector<Watched> watched_;  // used by the thread alone, without the lock
};

}  // namespace troupe
