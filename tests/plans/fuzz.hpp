#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/run/spawned_plan.hpp"

namespace troupe::testing {

/// Whether a sanitizer makes everything take several times as long.
bool has_sanitizer();

/// How many cases a fuzz test tries: `all` of them, a sixth with a sanitizer, or TROUPE_FUZZ_PLANS if that is set.
std::uint64_t fuzz_cases(std::uint64_t all);
/// How many schedules of a runtime without threads a test tries: `all` of them, a twentieth with AddressSanitizer but
/// at least 3, one with ThreadSanitizer, which finds nothing on a single thread, or TROUPE_FUZZ_PLANS if that is set.
std::uint64_t schedules(std::uint64_t all);
/// The seed of the first: TROUPE_FUZZ_SEED if it is set, else 1.
std::uint64_t fuzz_seed();

/// A runtime without threads for every part of a plan.
std::vector<PartSetup> scheduled_parts(const Plan& plan, std::uint64_t seed);

/// Lets actors of all parts handle so many messages, in an order drawn from a seed.
void run_some(const std::vector<PartSetup>& parts, std::uint64_t seed, std::uint64_t messages);

}  // namespace troupe::testing
