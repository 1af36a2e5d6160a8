#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Makes tasks of a kind known to all plans of the process. Thread-safe. Throws Error if the kind is taken.
void register_task(const std::string& kind, TaskFactory factory);

/// Throws Error if there is no task of that kind.
TaskFactory find_task(const std::string& kind);

/// The task of an actor: of the actor itself, of the context, or the registered one of its kind, in this order. Throws
/// Error if there is none.
std::unique_ptr<Task> make_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
