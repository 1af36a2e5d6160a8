#pragma once

#include <set>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// Returns the copies of parameters in process `process` that actors of several processes update together: parameters
/// of which actors in several processes hold rows, and, if such actors are in several processes, parameters with
/// HeldParameter::equal_updates. After a run they are whole only if the other processes have made their updates.
std::set<ParameterRef> held_together(const Plan& plan, int process);

}  // namespace troupe
