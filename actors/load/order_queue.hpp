#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe {

/// Callbacks queued under a lock and run, in order, after it is released. A callback may call back into the owner of
/// the lock, like a link that fails in send(). Thread-safe.
class OrderQueue {
 public:
  /// Adds a callback. Call it under the lock, and run_all() after the lock is released.
  void add(std::function<void()> callback);
  /// Runs all callbacks, unless another call is running them. An exception of a callback does not stop the others; the
  /// first exception is returned.
  std::exception_ptr run_all();
  /// Waits until the queue is empty and no callback runs, at most for `limit`. Returns at once in a callback.
  void wait_until_run(std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> callbacks_;
  std::thread::id runner_;  // the thread in run_all()
};

}  // namespace troupe
