#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Makes tasks of a kind known to all plans of the process. Thread-safe. Throws Error if the kind is taken.
void register_task(const std::string& kind, TaskFactory factory);

/// Throws Error if there is no task of that kind.
TaskFactory find_task(const std::string& kind);

}  // namespace troupe
