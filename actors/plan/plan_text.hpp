#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Every actor with its edges, capacities and tokens, then the segments: one line each.
std::string to_text(const Plan& plan);

}  // namespace troupe
