#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe {

/// Callbacks that an object queues while it holds its own lock, and runs in order after it has released that lock. A
/// callback may therefore call the object, which locks again. For example, a callback sends over a link, and the failed
/// link calls the object before the send returns. Thread-safe.
class OrderQueue {
 public:
  /// Adds a callback. The caller may hold its own lock, and must call run_all() after it has released that lock.
  void add(std::function<void()> callback);
  /// Runs all callbacks, including those that are added meanwhile. An exception of a callback does not stop the others.
  /// Returns the first exception; null if there is none. Returns null at once if another call is running callbacks:
  /// that call runs the new ones, too.
  std::exception_ptr run_all();
  /// Waits until the queue is empty and no callback runs, for at most `limit`. Returns at once if a callback calls it.
  void wait_until_run(std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> callbacks_;
  std::thread::id runner_;  // the thread that runs the callbacks; none if no callback runs
};

}  // namespace troupe
