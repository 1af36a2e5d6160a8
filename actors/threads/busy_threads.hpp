#pragma once

#include <atomic>

#include "troupe/actors/threads/thread_pinning.hpp"

namespace troupe {

/// Counts threads of this process that run actors, while it lives, but those that sleep. Threads look for work awake
/// only if each of them has a core: one that polls must not take time from one that works. Thread-safe.
class BusyThreads {
 public:
  explicit BusyThreads(int count) : count_(count) { total_ += count_; }
  ~BusyThreads() { total_ -= count_; }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  /// While it lives, one of the threads sleeps.
  class Asleep {
   public:
    Asleep() { --total_; }
    ~Asleep() { ++total_; }
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;
  };

  /// Whether all that are awake have a core.
  static bool fit() { return total_.load(std::memory_order_relaxed) <= usable_cores(); }

 private:
  inline static std::atomic<int> total_{0};
  int count_;
};

}  // namespace troupe
