#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// The parameters that an actor updates, each once. Several outputs may carry one parameter: one to the readers before
/// the update of a step, one to the readers after it.
std::vector<ParameterRef> updated_by(const PlanActor& actor);

/// True if an input of the actor is an edge without initial tokens, so that a new tensor arrives every step.
bool has_input_without_tokens(const Plan& plan, const PlanActor& actor);

/// Checks everything about a plan but its liveness, which check_liveness() proves. Throws Error that names the actor,
/// edge, process or communicator and the rule that it breaks. The rules:
/// - The actors are grouped into segments, and their places have process numbers of at least 0.
/// - Every edge has a reader, at least one slot, and no more initial tokens than slots.
/// - Every actor has a task, or, if it is external (ActorRole::external), a function that spawns it. It has inputs and
///   a firing rule that fit its Pacing; only an external actor may have a firing rule of its own.
/// - An external actor reads whole tensors, with the shapes and dtypes that it declares.
/// - An output that overwrites an input in place has the input's shape and dtype and no initial tokens. Apart from a
///   conductor, the actor that begins a collective, no other actor reads this input.
/// - A collective is in the process of its conductor.
/// - The plan has every parameter that an actor uses. Parameters that an external actor holds are in host memory. No
///   actor writes rows of a parameter that another actor writes, or reads from the store.
/// - The other processes can go on without the expendable processes (Plan::expendable).
///
/// CheckedPlan calls this function for a plan that is to be spawned.
void check_plan(const Plan& plan);

}  // namespace troupe
