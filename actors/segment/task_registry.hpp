#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Registers the factory that makes tasks of a kind, for all plans of the process. Throws Error if the kind has a
/// factory already. Thread-safe.
void register_task(const std::string& kind, TaskFactory factory);

/// The registered factory of a kind. Throws Error if there is none. Thread-safe.
TaskFactory find_task(const std::string& kind);

/// Makes the task of an actor with PlanActor::make_task if it is set, else with the factory in SpawnContext::tasks for
/// the kind of the task, else with the registered factory. Throws Error if there is no factory for the kind.
std::unique_ptr<Task> make_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
