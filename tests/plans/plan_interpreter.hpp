#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "troupe/tests/plans/random_plan.hpp"

namespace troupe::testing {

/// All parameters are set to `value` before `step`.
struct ParameterChange {
  std::int64_t step = 0;
  float value = 0.0F;
};

/// What the sinks of a random plan must read in steps 0 to `steps` - 1, by a plain interpreter of the plan: an edge
/// with t tokens carries what its producer made t steps ago, or the parameter's new value if that was before a change.
SinkRecord expected_record(const Plan& plan, std::int64_t steps, const std::vector<ParameterChange>& changes = {});

}  // namespace troupe::testing
