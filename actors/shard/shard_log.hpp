#pragma once

#include <cstdint>
#include <mutex>

#include "troupe/actors/shard/staleness.hpp"

namespace troupe {

/// Counts what the shards and the dispatcher of a plan do in this process. Thread-safe.
class ShardLog {
 public:
  void note_applied(std::int64_t staleness) {
    std::lock_guard lock(mutex_);
    ++staleness_.applied[staleness];
  }
  void note_dropped() {
    std::lock_guard lock(mutex_);
    ++staleness_.dropped;
  }
  Staleness staleness() const {
    std::lock_guard lock(mutex_);
    return staleness_;
  }

  /// The last run consisted of the steps before `step`.
  void note_end_step(std::int64_t step) {
    std::lock_guard lock(mutex_);
    end_step_ = step;
  }
  std::int64_t end_step() const {
    std::lock_guard lock(mutex_);
    return end_step_;
  }

 private:
  mutable std::mutex mutex_;
  Staleness staleness_;
  std::int64_t end_step_ = 0;
};

}  // namespace troupe
