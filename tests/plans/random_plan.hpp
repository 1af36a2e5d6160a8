#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"

namespace troupe::testing {

/// What the sinks of a plan have read, by actor, all inputs one after the other.
using SinkRecord = std::map<ActorId, std::vector<float>>;

struct RandomPlanOptions {
  /// Processes over which the actors are spread.
  int processes = 1;
  /// Some actors are external ones.
  bool external = true;
  /// Some edges close cycles without a token, so that the plan is dead, perhaps.
  bool may_be_dead = true;
};

/// A plan of sources, ops that stay alone or not, in-place actors, views, updates of parameters with one and with
/// several slots, loops and sinks, over several places and replicas, drawn from a seed. Every actor computes small
/// integers from its inputs, so that sums are exact.
struct RandomPlan {
  RandomPlan(std::uint64_t seed, const RandomPlanOptions& options = {});

  Plan plan;
  std::shared_ptr<SinkRecord> record = std::make_shared<SinkRecord>();
};

}  // namespace troupe::testing
