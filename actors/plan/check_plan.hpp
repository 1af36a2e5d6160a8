#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// True if an input of the actor is an edge without initial tokens: something new arrives every step.
bool has_input_without_tokens(const Plan& plan, const PlanActor& actor);

/// Checks everything about a plan but its liveness: every edge has a reader, every actor a task and something that
/// tells it when a step begins, external actors read and write what they declared, in-place outputs can be in place,
/// and no parameter is written by two actors. Throws Error that names the actor or edge and the rule.
void check_plan(const Plan& plan);

}  // namespace troupe
