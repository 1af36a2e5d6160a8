#pragma once

#include <atomic>

namespace troupe {

/// Calls a function on one thread at a time, without a lock that other threads could wait for. A call() while the
/// function runs, also from inside the function, returns at once; the running call() then calls its function once more.
/// All calls of an object must pass the same function. Thread-safe.
class OneAtATime {
 public:
  /// The function must not throw.
  template <class Function>
  void call(Function function) {
    if (calls_.fetch_add(1) > 0) return;
    int seen = 1;
    do {
      seen = calls_.load();
      function();
    } while (!calls_.compare_exchange_strong(seen, 0));
  }

 private:
  std::atomic<int> calls_{0};
};

}  // namespace troupe
