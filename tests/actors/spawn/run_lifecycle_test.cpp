// Runs of a spawned plan: how they begin, end, are stopped and watched, and what one leaves to the next.

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <future>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a plan runs again and again, each run with as many steps as were asked for") {
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    std::vector<float> record;
    auto runtime = scheduled_runtime(3);
    SpawnedPlan plan(runtime, in_grain(chain_plan(3, kForEver, record, 2), grain));
    std::int64_t first = 0;
    for (std::int64_t steps : {4, 0, 1, 7}) {
      record.clear();
      plan.start({first, steps, 0});
      plan.wait();
      CHECK(record == counted(first, steps, 3.0F));
      first += steps;
    }
  }
}

TEST_CASE("the shortest source ends a run, and what the others sent too much comes back") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    std::vector<float> record;
    Plan plan;
    const auto short_one = plan.add(counting_source("short", 3));
    const auto long_one = plan.add(counting_source("long", 9));
    const auto join = plan.add(function_actor("join", 1, [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] =
          firing.inputs[0].data<float>()[0] * firing.inputs[1].data<float>()[0];
    }));
    plan.connect(short_one, 0, join, 2);
    plan.connect(long_one, 0, join, 2);
    plan.connect(join, 0, plan.add(recording_sink("sink", record)));
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, split(plan));
    spawned.start({0, kForEver, 0});
    spawned.wait();
    CHECK(record == std::vector<float>{0, 1, 4});
  }
}

TEST_CASE("a stop right after the start, or after the end, stops that run and no other") {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    std::vector<float> one, other;
    Plan plan;
    plan.connect(plan.add(counting_source("first", kForEver)), 0, plan.add(recording_sink("one", one)), 1);
    plan.connect(plan.add(counting_source("second", kForEver)), 0, plan.add(recording_sink("other", other)), 4);
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, split(plan));
    spawned.start({0, 500, 0});
    for (std::uint64_t i = 0; i < seed; ++i) runtime.run_one();
    spawned.stop();
    spawned.wait();
    CHECK(one.size() < 500);
    CHECK(one.size() == other.size());
    spawned.stop();
    const auto first = static_cast<std::int64_t>(one.size());
    spawned.start({first, 10, 0});
    spawned.wait();
    CHECK(one == counted(0, first + 10, 0.0F));
    CHECK(one == other);
  }
}

TEST_CASE("a plan that is not wired yet can be described") {
  std::vector<float> record;
  auto runtime = scheduled_runtime(0);
  SpawnedPlan plan(runtime, split(chain_plan(1, 5, record)));
  CHECK_THAT(plan.describe(), Contains("'source'"));
}

TEST_CASE("a second run cannot start before the first is over") {
  auto runtime = scheduled_runtime(0);
  std::vector<float> record;
  SpawnedPlan plan(runtime, split(chain_plan(1, 5, record)));
  plan.start({0, 5, 0});
  CHECK_THROWS_AS(plan.start({5, 5, 0}), Error);
  plan.wait();
}

TEST_CASE("a shorter source ends the run of a loop that holds the longer one's branch, and the next run is whole") {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    INFO("seed " << seed);
    std::vector<float> record;
    Plan plan;
    const auto short_one = plan.add(counting_source("short", 3));
    const auto long_one = plan.add(counting_source("long", 1000));
    const auto copy = [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] = firing.inputs[0].data<float>()[0];
    };
    const auto branch = plan.add(function_actor("branch", 1, copy));
    const auto join = plan.add(function_actor("join", 1, copy));
    plan.connect(long_one, 0, branch, 2);
    plan.connect(short_one, 0, join, 2);
    plan.connect(branch, 0, join, 2);
    plan.connect(plan.edge_of(join, 0, 2, 1), branch, {Shape{2}, DType::float32}, 0);
    plan.connect(branch, 0, plan.add(recording_sink("sink", record)), 2);
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, in_grain(plan, seed % 2 == 0 ? Grain::per_op : Grain::chains));
    for (int run = 0; run < 3; ++run) {
      spawned.start({0, kForEver, 0});
      spawned.wait();
    }
    CHECK(record.size() >= 9);
  }
}

TEST_CASE("an actor that has ended keeps no token from a source that goes on") {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    INFO("seed " << seed);
    std::vector<float> record;
    Plan plan;
    const auto short_one = plan.add(counting_source("short", 2));
    const auto long_one = plan.add(counting_source("long", 5));
    const auto next = plan.add(function_actor("next", 1, [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] = firing.inputs[0].data<float>()[0] + 1;
    }));
    const auto sink = plan.add(recording_sink("sink", record));
    plan.connect(long_one, 0, next);
    plan.connect(plan.edge_of(next, 0, 1, 1), sink, {Shape{2}, DType::float32}, 0);
    plan.connect(short_one, 0, sink);
    const auto grain = static_cast<Grain>(seed % 3);
    SpawnedPlan spawned(scheduled_runtime(seed), in_grain(plan, grain));
    for (int run = 0; run < 2; ++run) {
      spawned.start({0, kForEver, 0});
      spawned.wait();
      CHECK(spawned.drained());
    }
    // Fused, both sources are one segment, which ends with the shorter.
    CHECK(record == std::vector<float>{0, 1, grain == Grain::fused ? 2.0F : 5.0F, 1});
  }
}

TEST_CASE("an executor that always has work leaves others their turn on the only worker: a stop is heard") {
  std::vector<float> record;
  Runtime runtime({.workers = 1, .own_threads = false});
  SpawnedPlan plan(runtime, fuse(chain_plan(3, kForEver * kForEver, record)));
  plan.start({0, kForEver * kForEver, 0});
  int looks = 0;
  plan.wait({.interval = std::chrono::milliseconds(5), .on_interval = [&] {
               if (++looks == 2) plan.stop();
             }});
  CHECK(record == counted(0, static_cast<std::int64_t>(record.size()), 3.0F));
}

TEST_CASE("a thread of the runtime's own actors is told at once that it cannot wait for them") {
  Runtime runtime({.workers = 1});
  std::vector<float> record;
  SpawnedPlan plan(runtime, split(chain_plan(1, 5, record)));
  plan.start({.max_steps = 5});
  std::promise<std::string> refused;
  runtime.system().spawn([&] {
    try {
      plan.wait();
      refused.set_value("not refused");
    } catch (const Error& error) {
      refused.set_value(error.what());
    }
  });
  CHECK_THAT(refused.get_future().get(), Contains("cannot wait for them"));
  plan.wait();
}

TEST_CASE("a run can be watched without waiting: on_over tells its end") {
  Runtime runtime({.workers = 1});
  std::vector<float> record;
  SpawnedPlan plan(runtime, split(chain_plan(1, 50, record)));
  for (int run = 0; run < 3; ++run) {
    std::promise<void> over;
    plan.on_over([&] { over.set_value(); });
    plan.start({.max_steps = 50});
    over.get_future().wait();
    CHECK(plan.done());
    CHECK_FALSE(plan.failure());
  }
  CHECK(record.size() == 150);
}

TEST_CASE("a second run whose steps are counted from 0 again reads the tokens of the first one in order") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<float> record;
    Plan plan;
    const auto source = plan.add(counting_source("source", 1000));
    const auto adder = plan.add(function_actor("adder", 1, [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] =
          firing.inputs[1].data<float>()[0] + 1.0F + 0.0F * firing.inputs[0].data<float>()[0];
    }));
    plan.connect(source, 0, adder);
    plan.connect(plan.edge_of(adder, 0, 3, 2), adder, {Shape{2}, DType::float32}, 0);
    const auto sink = plan.add(recording_sink("sink", record));
    plan.connect(adder, 0, sink, 3);
    plan.connect(source, 0, sink);
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, split(plan));
    for (int run = 0; run < 3; ++run) {
      spawned.start({0, 5});
      spawned.wait();
    }
    // The sink reads what the adder made two steps ago, so 1, 1, 2, 2, ... behind the two tokens.
    REQUIRE(record.size() == 15);
    for (std::size_t i = 0; i < record.size(); ++i) CHECK(record[i] == static_cast<float>(i / 2));
  }
}
