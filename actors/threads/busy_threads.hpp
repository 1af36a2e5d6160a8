#pragma once

#include <atomic>

#include "troupe/actors/threads/thread_pinning.hpp"

namespace troupe {

/// Counts the awake threads of this process that run actors: `count` threads for the lifetime of the object, less those
/// that sleep. Threads poll for work only if each awake thread has a core: a polling thread must not take time from a
/// working one. Thread-safe.
class BusyThreads {
 public:
  explicit BusyThreads(int count) : count_(count) { total_ += count_; }
  ~BusyThreads() { total_ -= count_; }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  /// Counts one of the threads as asleep for the lifetime of the object.
  class Asleep {
   public:
    Asleep() { --total_; }
    ~Asleep() { ++total_; }
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;
  };

  /// True if every awake thread has a core.
  static bool fit() { return total_.load(std::memory_order_relaxed) <= usable_cores(); }

 private:
  inline static std::atomic<int> total_{0};
  int count_;
};

}  // namespace troupe
