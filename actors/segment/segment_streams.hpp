#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// The streams on which the segments of one executor, the actor that runs them, launch their work. A segment has a
/// stream of its own, or shares one with the other segments of the executor that have the same PlanSegment::stream.
/// Used on one thread at a time.
class SegmentStreams {
 public:
  /// `segments` has the indices in Plan::segments of the segments that the executor runs.
  SegmentStreams(const Plan& plan, std::span<const std::int32_t> segments);

  /// Returns the stream that the segment shares, which the first call for it makes, or a new stream if the segment
  /// shares none.
  std::shared_ptr<Stream> of(const PlanSegment& segment);
  /// True if the segments of two actors share a stream. Their work then runs in the order of its launches, so messages
  /// between them need no event. False for an actor that another executor runs, and for two actors of a segment that
  /// shares no stream.
  bool share(ActorId a, ActorId b) const;

 private:
  std::unordered_map<ActorId, std::int32_t> number_of_;  // by actor: PlanSegment::stream, unless it is kNone
  std::map<std::int32_t, std::shared_ptr<Stream>> shared_;
};

}  // namespace troupe
