#pragma once

#include <cstdint>
#include <utility>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/tests/plans/test_plans.hpp"

// Plans with actors that fire by a rule of their own.

namespace troupe::testing {

inline PlanActor with_own_rule(PlanActor actor) {
  actor.rule = FiringRule::own;
  return actor;
}

inline void run_steps(const Runtime& runtime, const Plan& plan, std::int64_t steps) {
  SpawnedPlan spawned(runtime, in_grain(plan, Grain::per_op));
  spawned.start({.max_steps = steps});
  spawned.wait();
}

}  // namespace troupe::testing
