#include "troupe/tests/plans/scheduled_parts.hpp"

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/plans/test_plans.hpp"

namespace troupe::testing {

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
