#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Describes a plan line by line: every actor, followed by a line for each of its output edges with the edge's tensors,
/// capacity, initial tokens and readers; then the parameters, the communicators, the expendable processes and the
/// segments.
std::string to_text(const Plan& plan);

}  // namespace troupe
