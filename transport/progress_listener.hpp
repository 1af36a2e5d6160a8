#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// A callback for the owner of work that is advanced in steps. The work calls it when the next step may be possible.
/// Copies share one function, so copying allocates nothing.
class ProgressListener {
 public:
  ProgressListener() = default;
  template <class Function>
  requires(std::is_invocable_v<const Function&> && !std::is_same_v<Function, ProgressListener>)
      ProgressListener(Function function)
      : function_(std::make_shared<const std::function<void()>>(std::move(function))) {
  }  // NOLINT: implicit, so that callers can pass a lambda as a listener

  explicit operator bool() const { return function_ != nullptr && *function_; }
  void operator()() const { (*function_)(); }

 private:
  std::shared_ptr<const std::function<void()>> function_;
};

/// The listener of each rank of a collective, by rank. Thread-safe: a listener may be set while others are called.
class ProgressListeners {
 public:
  static constexpr auto kNoRank = std::numeric_limits<std::size_t>::max();

  explicit ProgressListeners(std::size_t ranks) : listeners_(ranks) {}

  void set(std::size_t rank, ProgressListener listener) {
    std::lock_guard lock(mutex_);
    listeners_.at(rank) = std::move(listener);
  }
  void clear() {
    std::lock_guard lock(mutex_);
    for (auto& listener : listeners_) listener = {};
  }
  /// Calls the listeners that are set, except that of rank `except`, without holding the lock. Allocates nothing.
  void notify(std::size_t except = kNoRank) const {
    for (std::size_t rank = 0; rank < listeners_.size(); ++rank) {
      if (rank == except) continue;
      if (const auto listener = at(rank)) listener();
    }
  }

 private:
  ProgressListener at(std::size_t rank) const {
    std::lock_guard lock(mutex_);
    return listeners_[rank];
  }

  mutable std::mutex mutex_;
  std::vector<ProgressListener> listeners_;
};

}  // namespace troupe
