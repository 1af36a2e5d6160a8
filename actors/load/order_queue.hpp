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
/// callback may thus call the object, which locks again: for example, a callback that sends over a link whose failure
/// is reported to the object at once. Thread-safe.
class OrderQueue {
 public:
  /// Adds a callback. The caller holds its own lock, and calls run_all() after it has released that lock.
  void add(std::function<void()> callback);
  /// Runs all callbacks. If another call is running them, returns at once: that call runs the new ones, too. An
  /// exception of a callback does not stop the others; the first exception is returned, or null if there is none.
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
