#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// The streams on which the segments of one executor launch their work. A segment has a stream of its own, or shares
/// one with other segments if the plan says so. Used on one thread at a time.
class SegmentStreams {
 public:
  /// `segments` are the numbers, in the plan, of the executor's segments.
  SegmentStreams(const Plan& plan, std::span<const std::int32_t> segments);

  std::shared_ptr<Stream> of(const PlanSegment& segment);
  /// True if two actors launch their work on one stream that segments share. The order of launches is then the order of
  /// the work, without an event.
  bool share(ActorId a, ActorId b) const;

 private:
  std::unordered_map<ActorId, std::int32_t> number_of_;  // by actor: PlanSegment::stream, if other segments share it
  std::map<std::int32_t, std::shared_ptr<Stream>> shared_;
};

}  // namespace troupe
