#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Registers tasks of a kind for all plans of the process. Thread-safe. Throws Error if the kind is taken.
void register_task(const std::string& kind, TaskFactory factory);

/// The registered tasks of a kind. Throws Error if there are none. Thread-safe.
TaskFactory find_task(const std::string& kind);

/// Makes the task of an actor by the factory of the actor itself, else of the context, else of the registry. Throws
/// Error if there is none.
std::unique_ptr<Task> make_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
