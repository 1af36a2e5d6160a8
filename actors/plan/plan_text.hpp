#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// The plan as text: every actor with its edges, capacities and tokens, then the segments, one line each.
std::string to_text(const Plan& plan);
/// The plan for Graphviz, with segments as clusters. An edge is labeled tokens/capacity.
std::string to_dot(const Plan& plan);

}  // namespace troupe
