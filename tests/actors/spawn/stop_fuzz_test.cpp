// Random plans that are stopped, killed and destroyed at random moments: no run hangs, and what goes on after a stop
// computes what an undisturbed run computes.

#include <algorithm>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <functional>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/plan_game.hpp"
#include "troupe/tests/plans/plan_interpreter.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kStepsToStop = 40;

std::vector<PartSetup> parts_on_threads(const Plan& plan) {
  std::vector<PartSetup> parts;
  for (int process = 0; process < plan.processes(); ++process)
    parts.push_back({Runtime({.workers = 2, .cpu_devices = 2}), {}});
  return parts;
}

/// A random plan that is live, grouped, with the runtimes of its parts.
struct Case {
  explicit Case(std::uint64_t seed, bool on_threads = false)
      : random(seed, {.processes = 1 + static_cast<int>(seed % 3), .may_be_dead = false}) {
    if (random.record->empty() || !plays(one_by_one(random.plan))) return;
    live = true;
    plan = in_grain(random.plan, static_cast<Grain>(seed / 3 % 3));
    parts = on_threads ? parts_on_threads(plan) : scheduled_parts(plan, seed);
    for (auto& part : parts) part.context.store = std::make_shared<ParameterStore>();
  }

  RandomPlan random;
  bool live = false;
  Plan plan;
  std::vector<PartSetup> parts;
};

std::uint64_t random_moment(std::uint64_t seed) {
  return uniform_below(400, seed, 2, 0);
}

/// Steps that the sinks of a plan have seen; the same number for all.
std::int64_t steps_seen(const Case& tested) {
  std::int64_t steps = -1;
  for (const auto& [id, values] : *tested.random.record) {
    std::int64_t a_step = 0;
    for (const auto& input : tested.plan.actors[id].inputs) a_step += input.info.shape.elements();
    const auto seen = static_cast<std::int64_t>(values.size()) / a_step;
    CHECK(static_cast<std::int64_t>(values.size()) % a_step == 0);
    if (steps >= 0) CHECK(seen == steps);
    steps = seen;
  }
  return steps;
}

/// Starts many random plans and lets each come to a random moment, at which `then` does something to it. No tensor must
/// be left.
void at_random_moments(const std::function<void(Case&, SpawnedPlan&, std::uint64_t seed)>& then) {
  const auto before = cpu_allocator()->bytes_in_use();
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + schedules(300); ++seed) {
    INFO("seed " << seed);
    Case tested(seed);
    if (!tested.live) continue;
    SpawnedPlan spawned(tested.parts, tested.plan);
    spawned.start({0, 100'000, 0});
    run_some(tested.parts, seed, random_moment(seed));
    then(tested, spawned, seed);
  }
  CHECK(cpu_allocator()->bytes_in_use() == before);
}

Tensor filled(const ParameterStore::Entry& entry, float value) {
  Tensor tensor(entry.info.shape, DType::float32);
  std::ranges::fill(tensor.mutable_data<float>(), value);
  return tensor;
}

}  // namespace

TEST_CASE("a run that is stopped at a random moment goes on as if it had not been") {
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + schedules(600); ++seed) {
    INFO("seed " << seed);
    Case tested(seed);
    if (!tested.live) continue;
    SpawnedPlan spawned(tested.parts, tested.plan);
    std::int64_t done = 0;
    for (int stops = 0; stops < 2; ++stops) {
      spawned.start({done, kStepsToStop, 0});
      run_some(tested.parts, seed + static_cast<std::uint64_t>(stops), random_moment(seed));
      spawned.stop();
      spawned.wait();
      done = steps_seen(tested);
    }
    spawned.start({done, 3, 0});
    spawned.wait();
    CHECK(steps_seen(tested) == done + 3);
    CHECK(*tested.random.record == expected_record(tested.random.plan, done + 3));
  }
}

TEST_CASE("on threads, too, a run in parts goes on after a stop as if it had not been stopped") {
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + fuzz_cases(120); ++seed) {
    INFO("seed " << seed);
    Case tested(seed, true);
    if (!tested.live) continue;
    SpawnedPlan spawned(tested.parts, tested.plan);
    spawned.start({0, kStepsToStop, 0});
    if (seed % 2 == 0) spawned.stop();
    spawned.wait();
    const auto done = steps_seen(tested);
    spawned.start({done, 3, 0});
    spawned.wait();
    CHECK(*tested.random.record == expected_record(tested.random.plan, done + 3));
  }
}

TEST_CASE("parameters that are set between two runs of a spawned plan are what the next run reads") {
  std::uint64_t refreshed = 0;
  const auto plans = schedules(600);
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + plans; ++seed) {
    INFO("seed " << seed);
    Case tested(seed);
    if (!tested.live || tested.plan.parameters.empty()) continue;
    SpawnedPlan spawned(tested.parts, tested.plan);
    const auto before = static_cast<std::int64_t>(seed % 3);
    spawned.start({0, before, 0});
    spawned.wait();
    constexpr float kValue = 77.0F;
    for (const auto& part : tested.parts)
      for (const auto& entry : part.context.store->entries())
        part.context.store->set(entry.name, filled(entry, kValue));
    spawned.start({before, 5, 0});
    spawned.wait();
    CHECK(*tested.random.record == expected_record(tested.random.plan, before + 5, {{before, kValue}}));
    ++refreshed;
  }
  CHECK(refreshed >= plans / 10);
}

TEST_CASE("an actor that is killed at a random moment ends the run of all parts with its name") {
  at_random_moments([](Case& tested, SpawnedPlan& spawned, std::uint64_t seed) {
    const auto part = static_cast<int>(uniform_below(tested.parts.size(), seed, 3, 0));
    const auto& actors = spawned.actors(part);
    if (actors.empty()) return;
    const auto victim = uniform_below(actors.size(), seed, 3, 1);
    caf::anon_send_exit(actors[victim], caf::exit_reason::kill);
    CHECK_THROWS_WITH(spawned.wait(), Contains("died"));
    // The part at the other end may be the first to notice the death of a proxy.
    const auto& failure = *spawned.failure();
    if (failure.kind == FailureKind::actor_died)
      CHECK(failure.actor == spawned.actor_name(part, victim));
    else
      CHECK_THAT(spawned.actor_name(part, victim), Contains("link to process"));
    if (tested.parts.size() > 1) CHECK(spawned.failure()->rank == part);
  });
}

TEST_CASE("a part that is killed whole at a random moment ends the run of the others") {
  at_random_moments([](Case& tested, SpawnedPlan& spawned, std::uint64_t seed) {
    const auto part = static_cast<int>(uniform_below(tested.parts.size(), seed, 3, 0));
    caf::anon_send_exit(spawned.supervisor(part), caf::exit_reason::kill);
    for (const auto& actor : spawned.actors(part)) caf::anon_send_exit(actor, caf::exit_reason::kill);
    CHECK_THROWS_WITH(spawned.wait(), Contains("died"));
    if (tested.parts.size() > 1) CHECK(spawned.failure()->rank == part);
  });
}

TEST_CASE("a supervisor that is killed at a random moment ends the run of all parts") {
  at_random_moments([](Case& tested, SpawnedPlan& spawned, std::uint64_t seed) {
    const auto part = static_cast<int>(uniform_below(tested.parts.size(), seed, 3, 0));
    caf::anon_send_exit(spawned.supervisor(part), caf::exit_reason::kill);
    CHECK_THROWS_WITH(spawned.wait(), Contains("died"));
    if (tested.parts.size() > 1) CHECK(spawned.failure()->rank == part);
  });
}

TEST_CASE("a plan that is destroyed at a random moment leaves nothing behind") {
  at_random_moments([](Case&, SpawnedPlan&, std::uint64_t) {});
}
