#pragma once

#include <atomic>
#include <cstdint>

namespace troupe {

/// Counts the updates of one copy of a parameter. Only the actor that updates the copy writes to the counter.
class UpdateCounter {
 public:
  void begin_update() { writing_.store(true, std::memory_order_relaxed); }
  void finish_update() {
    updates_.store(updates_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  /// Ends a write that belongs to the last update.
  void finish_amendment() { writing_.store(false, std::memory_order_release); }
  /// Sets the count after a whole value was written to the copy. Must not be called while a run writes.
  void reset(std::int64_t updates) {
    updates_.store(updates, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  std::int64_t updates() const { return updates_.load(std::memory_order_relaxed); }
  /// Whether an update has begun and not ended: the elements are undefined then.
  bool writing() const { return writing_.load(std::memory_order_acquire); }
  /// Notes that launched work may still write although no run waits for it.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> updates_{0};
  std::atomic<bool> writing_{false}, abandoned_{false};
};

}  // namespace troupe
