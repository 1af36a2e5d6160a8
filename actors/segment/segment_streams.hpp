#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// The streams on which the segments of one executor launch their work: one each, or the one that the plan lets several
/// share. Used on one thread at a time.
class SegmentStreams {
 public:
  /// For segments of the plan with these numbers, all of one executor.
  SegmentStreams(const Plan& plan, std::span<const std::int32_t> segments);

  std::shared_ptr<Stream> of(const PlanSegment& segment);
  /// Whether two actors launch their work on one stream that segments share: what one launches after the other is done
  /// after it, without an event.
  bool share(ActorId a, ActorId b) const;

 private:
  std::unordered_map<ActorId, std::int32_t> number_of_;  // by actor, of those that share
  std::map<std::int32_t, std::shared_ptr<Stream>> shared_;
};

}  // namespace troupe
