#pragma once

#include <cstdint>

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

}  // namespace troupe::testing
