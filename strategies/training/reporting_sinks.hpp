#pragma once

#include <span>
#include <string>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// Checks that each of `replicas` has exactly one sink in the plan: an actor with a task of the kind `kind`
/// (PlanRequest::sink), which takes the results of a step. Throws Error that names the replica.
void expect_sinks(const Plan& plan, const std::string& kind, std::span<const int> replicas);

}  // namespace troupe
