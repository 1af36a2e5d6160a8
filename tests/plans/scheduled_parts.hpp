#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/spawn/spawned_plan.hpp"

namespace troupe::testing {

/// A runtime without threads for every part of a plan.
std::vector<PartSetup> scheduled_parts(const Plan& plan, std::uint64_t seed);

/// Lets actors of all parts handle so many messages, in an order drawn from a seed.
void run_some(const std::vector<PartSetup>& parts, std::uint64_t seed, std::uint64_t messages);

}  // namespace troupe::testing
