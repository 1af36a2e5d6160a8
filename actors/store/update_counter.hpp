#pragma once

#include <atomic>
#include <cstdint>

namespace troupe {

/// Counts the updates of one copy of a parameter, or of some of its rows. During a run only the actor that updates the
/// copy changes the counter; the store resets it between runs.
class UpdateCounter {
 public:
  void begin_update() { writing_.store(true, std::memory_order_relaxed); }
  void finish_update() {
    updates_.store(updates_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  /// Ends a write that is a part of the last update, so the count stays the same.
  void finish_amendment() { writing_.store(false, std::memory_order_release); }
  /// Sets the count, and declares the copy whole. Must not be called while a run writes to the copy.
  void reset(std::int64_t updates) {
    updates_.store(updates, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  std::int64_t updates() const { return updates_.load(std::memory_order_relaxed); }
  /// Whether an update has begun and not ended: the elements are undefined then.
  bool writing() const { return writing_.load(std::memory_order_acquire); }
  /// Notes that a kernel launched by a run that was given up may still write to the copy.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> updates_{0};
  std::atomic<bool> writing_{false}, abandoned_{false};
};

}  // namespace troupe
