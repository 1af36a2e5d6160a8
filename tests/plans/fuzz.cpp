#include "troupe/tests/plans/fuzz.hpp"

#include <cstdlib>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/plans/test_plans.hpp"

namespace troupe::testing {

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

// The sanitizers make every case several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSlowdown = 6;
#else
constexpr std::uint64_t kSlowdown = 1;
#endif

std::uint64_t fuzz_cases(std::uint64_t otherwise) {
  return number_from("TROUPE_FUZZ_PLANS", otherwise / kSlowdown);
}

std::uint64_t fuzz_seed() {
  return number_from("TROUPE_FUZZ_SEED", 1);
}

std::vector<PartSetup> scheduled_parts(const Plan& plan, std::uint64_t seed) {
  std::vector<PartSetup> parts;
  for (int process = 0; process < plan.processes(); ++process)
    parts.push_back({scheduled_runtime(seed + static_cast<std::uint64_t>(process)), {}});
  return parts;
}

void run_some(const std::vector<PartSetup>& parts, std::uint64_t seed, std::uint64_t messages) {
  for (std::uint64_t i = 0; i < messages; ++i) parts[uniform_below(parts.size(), seed, 23, i)].runtime.run_one();
}

}  // namespace troupe::testing
