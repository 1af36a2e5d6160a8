#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/threads/ready_queue.hpp"

namespace troupe {

/// The right of one of a SegmentActor's segments to use the arena that several of them share, from the begin of a
/// firing to its end. It cannot be missing for ever: a firing that has begun waits for no other segment. Belongs to the
/// thread of the actor. Only the constructor allocates memory.
class ArenaTurn {
 public:
  explicit ArenaTurn(std::size_t segments) { waiters_.reserve(segments); }

  /// Gives the arena to a segment and returns true, or returns false if another segment has it. A segment that gets
  /// false must not ask again before it has been pushed to the ready queue.
  bool take(std::uint32_t segment) {
    if (taken_) {
      waiters_.push_back(segment);
      return false;
    }
    user_ = segment;
    return taken_ = true;
  }

  /// Takes the arena back from a segment, and pushes the segments that asked for it. Does nothing if the segment does
  /// not have it.
  void give_back(std::uint32_t segment, ReadyQueue& ready) {
    if (!taken_ || user_ != segment) return;
    taken_ = false;
    for (const auto waiter : waiters_) ready.push(waiter);
    waiters_.clear();
  }

 private:
  bool taken_ = false;
  std::uint32_t user_ = 0;
  std::vector<std::uint32_t> waiters_;
};

}  // namespace troupe
