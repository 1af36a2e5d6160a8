#pragma once

#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Every actor with its edges, capacities and tokens, then the segments: one line each.
std::string to_text(const Plan& plan);
/// For Graphviz, segments as clusters. An edge is labelled tokens/capacity.
std::string to_dot(const Plan& plan);

}  // namespace troupe
