#include "troupe/actors/spawn/spawned_plan.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a chain passes every step on, in order, for any order in which actors run") {
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    const auto grain = seed % 2 == 0 ? Grain::per_op : Grain::fused;
    std::vector<float> record;
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan plan(runtime, in_grain(chain_plan(5, 12, record, 1 + static_cast<int>(seed % 3)), grain));
    plan.start({0, kForEver, 0});
    plan.wait();
    CHECK(plan.done());
    CHECK(record == counted(0, 12, 5.0F));
  }
}

TEST_CASE("a run that is not limited ends with the data") {
  std::vector<float> record;
  auto runtime = scheduled_runtime(1);
  SpawnedPlan spawned(runtime, split(chain_plan(2, 7, record)));
  spawned.start({});
  spawned.wait();
  CHECK(record.size() == 7);
}

TEST_CASE("the results are the same on real threads") {
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    for (int workers : {1, 2, 4}) {
      std::vector<float> record;
      Runtime runtime({.workers = workers});
      SpawnedPlan plan(runtime, in_grain(chain_plan(8, 200, record, 2), grain));
      plan.start({0, kForEver, 0});
      plan.wait();
      CHECK(record == counted(0, 200, 8.0F));
    }
  }
}

TEST_CASE("a token makes a loop: each step sees the result of the one before") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    std::vector<float> record;
    Plan plan;
    const auto source = plan.add(counting_source("source", 6));
    const auto sum = plan.add(function_actor("sum", 1, [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] =
          firing.inputs[0].data<float>()[0] + firing.inputs[1].data<float>()[0];
    }));
    plan.connect(source, 0, sum);
    plan.connect(plan.edge_of(sum, 0, 2, 1), sum, {Shape{2}, DType::float32}, 0);
    const auto sink = plan.add(recording_sink("sink", record));
    plan.connect(sum, 0, sink);
    plan.connect(source, 0, sink);
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, in_grain(plan, seed % 2 == 0 ? Grain::per_op : Grain::fused));
    spawned.start({0, 4, 0});
    spawned.wait();
    spawned.start({4, 2, 0});
    spawned.wait();
    // The sink reads the token too, so it is one step behind.
    CHECK(record == std::vector<float>{0, 0, 1, 3, 6, 10});
  }
}

TEST_CASE("the limits of capacity hold: a source is never further ahead than the slots allow") {
  std::vector<float> record;
  std::int64_t emitted = 0, most_ahead = 0;
  Plan plan;
  auto counting = counting_source("source", 50);
  counting.make_task =
      function_source([](std::int64_t step) { return step < 50 ? std::optional<std::int64_t>(1) : std::nullopt; },
                      [&](const Firing&) { ++emitted; });
  const auto source = plan.add(counting);
  const auto sink = plan.add(function_actor(
      "sink", 0, [&](const Firing& firing) { most_ahead = std::max(most_ahead, emitted - firing.step); }));
  plan.connect(source, 0, sink, 3);
  auto runtime = scheduled_runtime(11);
  SpawnedPlan spawned(runtime, split(plan));
  spawned.start({0, kForEver, 0});
  spawned.wait();
  CHECK(emitted == 50);
  CHECK(most_ahead == 3);
}

TEST_CASE("a loop with one slot runs in both grains") {
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    std::vector<float> record;
    Plan plan;
    const auto source = plan.add(counting_source("source", 5));
    const auto sum = plan.add(function_actor("sum", 1, [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] =
          firing.inputs[0].data<float>()[0] + firing.inputs[1].data<float>()[0];
    }));
    const auto keep = plan.add(function_actor("keep", 1, [](const Firing& firing) {
      firing.outputs[0].mutable_data<float>()[0] = firing.inputs[0].data<float>()[0];
    }));
    plan.connect(source, 0, sum);
    plan.connect(sum, 0, keep);
    plan.connect(sum, 0, plan.add(recording_sink("sink", record)));
    plan.connect(plan.edge_of(keep, 0, 1, 1), sum, {Shape{2}, DType::float32}, 0);
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, in_grain(plan, seed % 2 == 0 ? Grain::per_op : Grain::fused));
    spawned.start({0, kForEver, 0});
    spawned.wait();
    CHECK(record == std::vector<float>{0, 1, 3, 6, 10});
  }
}

TEST_CASE("tokens keep their rows from run to run") {
  const TensorInfo rows_info{Shape{kBatch, 2}, DType::float32};
  std::vector<std::int64_t> rows;
  Plan plan;
  plan.max_rows = 4;
  PlanActor source{.name = "source", .role = ActorRole::source};
  source.outputs.push_back({.info = rows_info});
  source.make_task = function_source([](std::int64_t step) { return 4 - step; }, [](const Firing&) {});
  const auto sink =
      plan.add(function_actor("sink", 0, [&](const Firing& firing) { rows.push_back(firing.inputs[0].shape()[0]); }));
  plan.connect(plan.edge_of(plan.add(source), 0, 3, 2), sink, rows_info, 0);
  plan.connect(plan.add(counting_source("pace", 3)), 0, sink);
  SpawnedPlan spawned(scheduled_runtime(1), split(plan));
  for (int run = 0; run < 2; ++run) {
    spawned.start({0, 3, 0});
    spawned.wait();
  }
  // Two tokens of the most rows, then steps of 4, 3 and 2 rows, of which the last two are the tokens of the second run.
  CHECK(rows == std::vector<std::int64_t>{4, 4, 4, 3, 2, 4});
}

TEST_CASE("more rows than the plan has room for, or different ones together, are an error, not an overwrite") {
  const auto rows_source = [](const std::string& name, std::int64_t rows) {
    PlanActor source{.name = name, .role = ActorRole::source};
    source.outputs.push_back({.info = {Shape{kBatch, 2}, DType::float32}});
    source.make_task = function_source([rows](std::int64_t) { return rows; }, [](const Firing&) {});
    return source;
  };
  const auto run = [&](std::int64_t first_rows, std::int64_t second_rows, Grain grain) {
    Plan plan;
    plan.max_rows = 4;
    const auto sink = plan.add(function_actor("sink", 0, [](const Firing&) {}));
    plan.connect(plan.add(rows_source("first", first_rows)), 0, sink);
    plan.connect(plan.add(rows_source("second", second_rows)), 0, sink);
    auto runtime = scheduled_runtime(1);
    SpawnedPlan spawned(runtime, in_grain(plan, grain));
    spawned.start({0, 3, 0});
    spawned.wait();
  };
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    CHECK_NOTHROW(run(4, 4, grain));
    CHECK_NOTHROW(run(0, 0, grain));
    CHECK_THROWS_WITH(run(5, 5, grain), Contains("5 rows came where the plan has room for 4"));
    CHECK_THROWS_WITH(run(3, 4, grain), Contains("3 and 4 rows"));
  }
}

TEST_CASE("what cannot run is refused before anything is spawned") {
  auto runtime = scheduled_runtime(0);
  std::vector<float> record;
  CHECK_THROWS_WITH(SpawnedPlan(runtime, chain_plan(1, 1, record)), Contains("no segments"));
  Plan unread;
  const auto source = unread.add(counting_source("source", 1));
  unread.edge_of(source, 0);
  CHECK_THROWS_WITH(SpawnedPlan(runtime, split(unread)), Contains("edge 'source' has no consumer"));
  Plan idle;
  idle.add(PlanActor{.name = "idle"});
  CHECK_THROWS_WITH(SpawnedPlan(runtime, split(idle)), Contains("'idle' has nothing to do"));
  Plan unpaced;
  unpaced.add(function_actor("unpaced", 0, [](const Firing&) {}));
  CHECK_THROWS_WITH(SpawnedPlan(runtime, split(unpaced)), Contains("'unpaced' has no input that tells it when"));
  Plan spoiled;
  const auto maker = spoiled.add(counting_source("maker", 1));
  const auto in_place = spoiled.add(function_actor("in place", 1, [](const Firing&) {}));
  spoiled.actors[in_place].outputs[0].alias_of = 0;
  spoiled.connect(maker, 0, in_place);
  spoiled.connect(maker, 0, spoiled.add(recording_sink("reader", record)));
  spoiled.connect(in_place, 0, spoiled.add(recording_sink("sink", record)));
  CHECK_THROWS_WITH(SpawnedPlan(runtime, split(spoiled)),
                    Contains("'in place' works in place on what 'reader' reads too"));
}

TEST_CASE("an actor in place of a part of an output works on that part") {
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    std::vector<float> record;
    Plan plan;
    auto wide = counting_source("source", 3);
    wide.outputs[0].info.shape = Shape{6};
    wide.make_task = function_source([](std::int64_t) { return 1; },
                                     [](const Firing& firing) {
                                       for (int i = 0; i < 6; ++i)
                                         firing.outputs[0].mutable_data<float>()[i] =
                                             static_cast<float>(10 * firing.step + i);
                                     });
    const auto source = plan.add(wide);
    auto in_place = function_actor("in place", 1, [](const Firing& firing) {
      for (auto& element : firing.outputs[0].mutable_data<float>()) element += 100.0F;
    });
    in_place.outputs[0].alias_of = 0;
    const auto doubled = plan.add(in_place);
    plan.connect(plan.edge_of(source, 0), doubled, {Shape{2}, DType::float32}, 3 * sizeof(float));
    plan.connect(doubled, 0, plan.add(recording_sink("sink", record)));
    auto runtime = scheduled_runtime(1);
    SpawnedPlan spawned(runtime, in_grain(plan, grain));
    spawned.start({.max_steps = 3});
    spawned.wait();
    CHECK(record == std::vector<float>{103, 113, 123});
  }
}

TEST_CASE("a process of a job is busy with a task that runs, and not once the run is over") {
  const auto cluster = join_cluster(options_of(0, 1, new_address()));
  SpawnedPlan* running = nullptr;
  std::vector<std::string> seen;
  Plan plan;
  plan.connect(plan.add(counting_source("source", 2)), 0, plan.add(function_actor("slow", 0, [&](const Firing&) {
    running->check_progress(patience());
    seen.push_back(cluster->busy().own().value_or(BusyRanks::Work{}).what);
  })));
  SpawnedPlan spawned({scheduled_runtime(1), {}}, fuse(plan), cluster);
  running = &spawned;
  for (int run = 0; run < 2; ++run) {
    spawned.start({});
    spawned.wait();
    CHECK_FALSE(cluster->busy().own());
  }
  CHECK(seen == std::vector<std::string>(4, "'slow'"));
}
