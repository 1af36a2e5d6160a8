#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/run/spawned_plan.hpp"

namespace troupe::testing {

/// Whether a sanitizer makes everything take several times as long.
bool has_sanitizer();

/// How many cases a fuzz test tries, fewer with a sanitizer: TROUPE_FUZZ_PLANS if it is set.
std::uint64_t fuzz_cases(std::uint64_t otherwise);
/// The seed of the first: TROUPE_FUZZ_SEED if it is set, else 1.
std::uint64_t fuzz_seed();

/// A runtime without threads for every part of a plan.
std::vector<PartSetup> scheduled_parts(const Plan& plan, std::uint64_t seed);

/// Lets actors of all parts handle so many messages, in an order drawn from a seed.
void run_some(const std::vector<PartSetup>& parts, std::uint64_t seed, std::uint64_t messages);

}  // namespace troupe::testing
