#pragma once

#include <atomic>
#include <cstdint>

namespace troupe {

/// Counts the updates of one copy of a parameter. Written by the one actor that updates it.
class UpdateCounter {
 public:
  void begin_update() { writing_.store(true, std::memory_order_relaxed); }
  void finish_update() {
    updates_.store(updates_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  /// What was written belongs to the last update.
  void finish_amendment() { writing_.store(false, std::memory_order_release); }
  /// The copy was given a whole value that has had so many updates. While no run writes.
  void reset(std::int64_t updates) {
    updates_.store(updates, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  std::int64_t updates() const { return updates_.load(std::memory_order_relaxed); }
  /// An update has begun and not ended: the elements may be anything.
  bool writing() const { return writing_.load(std::memory_order_acquire); }
  /// Work that was launched may still write some day, though nobody waits for it.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> updates_{0};
  std::atomic<bool> writing_{false}, abandoned_{false};
};

}  // namespace troupe
