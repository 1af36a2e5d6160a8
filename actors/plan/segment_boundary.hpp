#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// An output of a segment: an edge that an actor outside the segment reads, or that carries tokens from run to run.
struct SegmentOutput {
  EdgeId edge = kNone;
  /// The parameter that the output updates in place; each slot of an edge with several slots holds a copy of it.
  std::optional<ParameterRef> parameter;
  /// The port whose tensor the output is, in place.
  std::int32_t alias_port = kNone;
  /// The offset of the output in that tensor, in bytes.
  std::size_t alias_offset = 0;

  /// True if a slot is the parameter's own memory.
  bool is_parameter(const PlanEdge& carrier) const { return parameter && carrier.capacity == 1; }
};

/// The edges between a segment and the rest of the plan.
struct SegmentBoundary {
  std::vector<EdgeId> ports;
  /// An external actor has an entry without an edge for every output without a reader, so outputs keep their numbers.
  std::vector<SegmentOutput> outputs;
};

SegmentBoundary boundary_of(const Plan& plan, const PlanSegment& segment);

}  // namespace troupe
