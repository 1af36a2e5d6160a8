#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "troupe/actors/segment/segment_firing.hpp"

namespace troupe {

/// A segment of an executor: its firings, and where it stands in the run.
struct SegmentState {
  enum class Phase {
    idle,
    queued,   ///< ready, or interrupted between two tasks
    running,  ///< its tasks run
    pending,  ///< a task waits
  };

  explicit SegmentState(SegmentFiring segment_firing)
      : firing(std::move(segment_firing)), is_source(firing.is_source()) {}

  /// True if the segment may be queued once nothing blocks it.
  bool may_fire(bool sources_open) const { return phase == Phase::idle && !ended && (!is_source || sources_open); }
  /// The event that the segment waits for, in words.
  std::string waits_for(bool sources_open) const;

  SegmentFiring firing;
  bool is_source;
  Phase phase = Phase::idle;
  /// Inputs without a tensor and outputs without a free slot.
  std::uint32_t blockers = 0;
  /// The segment fires no more in this run.
  bool ended = true;
  /// The segment has ended, every slot is free, and the devices have done its work.
  bool finished = true;
};

}  // namespace troupe
