#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/spawned_plan.hpp"

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

  /// What the sinks must read in steps 0 to `steps` - 1, by a plain interpreter of the plan: an edge with t tokens
  /// carries what its producer made t steps ago.
  SinkRecord expected(std::int64_t steps) const;
};

/// Plays a plan, grouped into segments, by hand: takes tensors and slots as the protocol does, in any order, until
/// every segment has fired often enough. False if it gets stuck.
bool plays(const Plan& plan);

/// Every actor a segment of its own, by nothing but the words of split(): a loop of an actor to itself gets a slot
/// more.
Plan one_by_one(Plan plan);

}  // namespace troupe::testing
