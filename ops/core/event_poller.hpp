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

/// A thread that looks at events which nobody announces, and calls back once each is done. Idle, it sleeps.
/// Thread-safe.
class EventPoller {
 public:
  EventPoller() = default;
  /// Waits for the callback that is running.
  ~EventPoller();
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  /// Calls `callback` once on the poller's thread, which begins with the first call, when the event is done. It must
  /// not block.
  void watch(std::shared_ptr<Event::State> event, std::function<void()> callback);

  /// Looks at no event any more: callbacks that did not come yet never come. Waits, `limit` at most, for one that is
  /// running; false if that is not over. After true the poller has no thread.
  bool end(std::chrono::nanoseconds limit);

 private:
  struct Watched {
    std::shared_ptr<Event::State> event;
    std::vector<std::function<void()>> callbacks;
  };

  void work();
  void take_added(std::unique_lock<std::mutex>& lock, bool idle);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> added_;
  bool ending_ = false, working_ = false;
  std::thread thread_;
  std::vector<Watched> watched_;  // of the thread
};

}  // namespace troupe
