// Random plans in which one task throws, anything, anywhere: the run must end with the right actor, step and replica,
// and nothing may be left behind.

#include "troupe/actors/plan/grain.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/faulty_task.hpp"
#include "troupe/tests/plans/random_plan.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kFaultySteps = 6;

Fault random_fault(const Plan& plan, std::uint64_t seed) {
  std::vector<ActorId> candidates;
  for (ActorId id = 0; id < static_cast<ActorId>(plan.actors.size()); ++id)
    if (plan.actors[id].role != ActorRole::external) candidates.push_back(id);
  Fault fault;
  fault.actor = candidates[uniform_below(candidates.size(), seed, 1, 0)];
  const bool source = plan.actors[fault.actor].role == ActorRole::source;
  fault.place = static_cast<FaultPlace>(uniform_below(3, seed, 1, 1));
  if (fault.place == FaultPlace::next_rows && !source) fault.place = FaultPlace::fire;
  fault.step =
      fault.place == FaultPlace::begin ? 0 : static_cast<std::int64_t>(uniform_below(kFaultySteps, seed, 1, 2));
  return fault;
}

std::string place_of(const Plan& plan, const Fault& fault) {
  const auto& actor = plan.actors[fault.actor];
  return "(op " + actor.name + ", step " + std::to_string(fault.step) + ", replica " + std::to_string(actor.replica);
}

}  // namespace

TEST_CASE("any exception of any task ends the run with its actor, step and replica, and leaks nothing") {
  const auto before = cpu_allocator()->bytes_in_use();
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + schedules(600); ++seed) {
    INFO("seed " << seed);
    const RandomPlan random(seed, {.processes = 1 + static_cast<int>(seed % 3), .may_be_dead = false});
    auto fault = random_fault(random.plan, seed);
    const auto& thrown = things_to_throw()[seed % things_to_throw().size()];
    fault.raise = thrown.raise;
    try {
      const auto plan = in_grain(with_fault(random.plan, fault), static_cast<Grain>(seed % 3));
      SpawnedPlan spawned(scheduled_parts(plan, seed), plan);
      spawned.start({0, kFaultySteps, 0});
      CHECK_THROWS_WITH(spawned.wait(), Contains(thrown.text) && Contains(place_of(random.plan, fault)));
      CHECK(spawned.failure()->actor == random.plan.actors[fault.actor].name);
      CHECK(spawned.drained());
    } catch (const Error& error) {
      // A plan without tokens where they are needed: not what is tested here.
      CHECK_THAT(error.what(), Contains("would deadlock"));
    }
  }
  CHECK(cpu_allocator()->bytes_in_use() == before);
}
