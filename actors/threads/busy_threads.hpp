#pragma once

#include <atomic>

#include "troupe/actors/threads/thread_pinning.hpp"

namespace troupe {

/// Counts the awake threads of this process that run actors, in one number for all objects. An object adds `count`
/// threads for its lifetime, and Asleep subtracts a thread while it sleeps. Threads poll for work only if fit() returns
/// true: a polling thread must not take time from a working one. Thread-safe.
class BusyThreads {
 public:
  explicit BusyThreads(int count) : count_(count) { total_ += count_; }
  ~BusyThreads() { total_ -= count_; }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  /// Counts the calling thread as asleep for the lifetime of the Asleep object.
  class Asleep {
   public:
    Asleep() { --total_; }
    ~Asleep() { ++total_; }
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;
  };

  /// True if the process has a usable core for every awake thread that runs actors.
  static bool fit() { return total_.load(std::memory_order_relaxed) <= usable_cores(); }

 private:
  inline static std::atomic<int> total_{0};
  int count_;
};

}  // namespace troupe
