#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe {

/// What was decided under a lock and has to be said without it, in the order in which it was decided: saying it may
/// call back, as a link does that breaks in send(). Thread-safe.
class OrderQueue {
 public:
  /// To be called under the lock of whoever decides; say_all() follows when that is released.
  void add(std::function<void()> order);
  /// Returns when everything that stood in the queue has been said, or when another call of it is about to. What an
  /// order throws does not keep the others from being said; the first is returned.
  std::exception_ptr say_all();
  /// Waits until all has been said, at most for `limit`; not at all in a call from say_all().
  void wait_until_said(std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> orders_;
  std::thread::id speaker_;
};

}  // namespace troupe
