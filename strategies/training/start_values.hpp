#pragma once

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

class ParameterStore;

/// Throws Error if the store has a start value for a parameter that the plan does not have. Start values of optimizer
/// state, whose names contain a slash, are not checked: they may belong to another optimizer.
void check_start_values(const ParameterStore& store, const Plan& plan);

}  // namespace troupe
