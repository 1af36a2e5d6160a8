// Random plans: accepted in a grain if and only if playing them by hand does not get stuck, and computing what a plain
// interpreter computes, in every grain, under every schedule, in one part or several. TROUPE_FUZZ_PLANS says how many,
// TROUPE_FUZZ_SEED which is the first.

#include <optional>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/plan/plan_memory.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/plan_game.hpp"
#include "troupe/tests/plans/plan_interpreter.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::optional<Plan> accepted(const Plan& plan, Grain grain) {
  try {
    auto grouped = in_grain(plan, grain);
    check_liveness(grouped);
    return grouped;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Two runs, which together are `steps` steps.
void run_twice(SpawnedPlan& plan, std::int64_t first, std::int64_t steps) {
  plan.start({0, first, 0});
  plan.wait();
  plan.start({first, steps - first, 0});
  plan.wait();
}

}  // namespace

TEST_CASE("a plan is accepted, in any grain, if and only if playing it by hand does not get stuck") {
  const auto plans = schedules(600);
  std::uint64_t live = 0, dead = 0;
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + plans; ++seed) {
    INFO("seed " << seed);
    const RandomPlan random(seed, {.processes = 1 + static_cast<int>(seed % 3)});
    const bool playable = plays(one_by_one(random.plan));
    ++(playable ? live : dead);
    for (const auto grain : kGrains) {
      INFO("grain " << static_cast<int>(grain));
      const auto grouped = accepted(random.plan, grain);
      CHECK(grouped.has_value() == playable);
      if (grouped) CHECK(plays(*grouped));
    }
  }
  // Both kinds must come up, or nothing is shown.
  CHECK(live > plans / 4);
  CHECK(dead > 0);
}

TEST_CASE("random plans compute what a plain interpreter computes, in every grain and schedule, twice in a row") {
  const auto plans = schedules(300);
  constexpr std::int64_t kSteps = 7;
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + plans; ++seed) {
    for (const auto grain : kGrains) {
      INFO("seed " << seed << ", grain " << static_cast<int>(grain));
      const RandomPlan random(seed, {.processes = 1 + static_cast<int>(seed % 3), .may_be_dead = false});
      const auto plan = accepted(random.plan, grain);
      if (!plan) continue;
      SpawnedPlan spawned(scheduled_parts(*plan, 3 * seed), *plan);
      run_twice(spawned, static_cast<std::int64_t>(seed % kSteps), kSteps);
      CHECK(*random.record == expected_record(random.plan, kSteps));
    }
  }
}

TEST_CASE("random plans take the memory that was predicted") {
  const auto plans = schedules(300) / 3;
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + plans; ++seed) {
    for (const auto grain : kGrains) {
      INFO("seed " << seed << ", grain " << static_cast<int>(grain));
      const RandomPlan random(seed, {.external = false, .may_be_dead = false});
      const auto plan = accepted(random.plan, grain);
      if (!plan) continue;
      const auto before = cpu_allocator()->bytes_in_use();
      auto runtime = scheduled_runtime(seed);
      SpawnedPlan spawned(runtime, *plan);
      CHECK(cpu_allocator()->bytes_in_use() - before == memory_of(*plan).total());
    }
  }
}
