#pragma once

#include <functional>
#include <mutex>

namespace troupe {

/// What is called when a run is over. Thread-safe.
class OverCallback {
 public:
  /// Returns when a call of the one before is over, unless it is made in that call.
  void set(std::function<void()> callback) {
    std::lock_guard lock(mutex_);
    callback_ = std::move(callback);
  }
  /// What the callback throws is the program's own error and not the run's: it is dropped.
  void call() {
    std::lock_guard lock(mutex_);
    const auto callback = callback_;  // it may replace itself
    try {
      if (callback) callback();
    } catch (...) {
    }
  }

 private:
  std::recursive_mutex mutex_;
  std::function<void()> callback_;
};

}  // namespace troupe
