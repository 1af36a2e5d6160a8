#pragma once

#include <map>
#include <memory>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/collective_start.hpp"

namespace troupe {

/// The collectives that conductors have begun, on their way through a segment: one place for each edge from a conductor
/// to collectives, also for an edge inside the segment. Used on one thread at a time.
class CollectiveStarts {
 public:
  /// The place that a conductor fills or a collective reads; null for other actors. Valid as long as this.
  std::shared_ptr<CollectiveStart>* place_of(const Plan& plan, const PlanActor& actor);
  /// Fills the place of an edge with the start that has arrived over it.
  void set(EdgeId edge, const std::shared_ptr<CollectiveStart>& start) { starts_[edge] = start; }
  /// The start to send over an edge; null if the edge carries none.
  std::shared_ptr<CollectiveStart> on(EdgeId edge) const;
  /// Ends a firing: empties all places.
  void clear();

 private:
  std::map<EdgeId, std::shared_ptr<CollectiveStart>> starts_;
};

}  // namespace troupe
