#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// True if an input of the actor is an edge without initial tokens, so that a new tensor arrives every step.
bool has_input_without_tokens(const Plan& plan, const PlanActor& actor);

/// Checks everything about a plan but its liveness: the actors are grouped; every edge has a reader; every actor has a
/// task, and an input or rule that tells it when a step begins; external actors read whole tensors, as declared; an
/// output in place of an input has the input's shape and dtype, and no other actor but a conductor reads this input; a
/// collective is in the process of its conductor; no actor writes rows of a parameter that another actor writes, or
/// reads from the store; and the run can go on without the expendable processes. Throws Error that names the actor or
/// edge and the rule. CheckedPlan calls it for a plan that is to be spawned.
void check_plan(const Plan& plan);

}  // namespace troupe
