#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Registers the factory that makes tasks of a kind, for all plans of the process. Throws Error if the kind has a
/// factory. Thread-safe.
void register_task(const std::string& kind, TaskFactory factory);

/// The registered factory of a kind. Throws Error if there is none. Thread-safe.
TaskFactory find_task(const std::string& kind);

/// Makes the task of an actor with PlanActor::make_task, else with the context's factory for the kind of the task, else
/// with the registered one. Throws Error if there is none.
std::unique_ptr<Task> make_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
