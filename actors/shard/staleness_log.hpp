#pragma once

#include <cstdint>
#include <mutex>

#include "troupe/actors/shard/staleness.hpp"

namespace troupe {

/// Counts what the shards of a plan do. Thread-safe.
class StalenessLog {
 public:
  void note_applied(std::int64_t staleness) {
    std::lock_guard lock(mutex_);
    ++counted_.applied[staleness];
  }
  void note_dropped() {
    std::lock_guard lock(mutex_);
    ++counted_.dropped;
  }
  Staleness counted() const {
    std::lock_guard lock(mutex_);
    return counted_;
  }

 private:
  mutable std::mutex mutex_;
  Staleness counted_;
};

}  // namespace troupe
