// Workers in processes of their own that are lost while they train.

#include <algorithm>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/strategies/row_sparse_model.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kBatches = 25;

/// Servers in processes 0 and 1; workers in 0, if wanted, 2 and 3.
struct Servers {
  Servers(const ConsistencyRule& rule, Grain grain, std::uint64_t seed, bool looks_up = false)
      : spec(looks_up ? TrainingSpec{sentence_model(Lookups::several, true), SoftmaxCrossEntropy{}, Sgd{.lr = 0.1}}
                      : small_spec()),
        data(looks_up ? sentences(4 * rule.workers, kBatches * 4)
                      : small_dataset(kBatches * 4).shuffle(200).batch(4 * rule.workers)),
        log(rule.workers, spec, data.fields(), {.shared_steps = false}) {
    std::vector<Place> workers{{2, {DeviceType::cpu, 0}}, {3, {DeviceType::cpu, 0}}};
    if (rule.workers == 3) workers.push_back({0, {DeviceType::cpu, 1}});
    ServerOptions options;
    if (looks_up) options.sharding = {fixed_shards(3), Placement::round_robin};
    const ParameterServer strategy(workers, {{0, {DeviceType::cpu, 0}}, {1, {DeviceType::cpu, 0}}}, rule, options);
    plan = in_grain(strategy.training_plan({spec, data, 0, log.sink_inputs()}), grain);
    for (std::uint64_t part = 0; part < 4; ++part) {
      SpawnContext context;
      stores.push_back(std::make_shared<ParameterStore>(1));
      context.store = stores.back();
      context.sources.emplace("data", data);
      context.tasks.emplace("metrics", log.sink(NonFiniteLoss::stop));
      context.shard_log = log.shard_log();
      setups.push_back({scheduled_runtime(seed + part), context});
    }
  }

  /// The updates that each parameter has had.
  std::vector<std::int64_t> updates() const {
    std::vector<std::int64_t> updates;
    for (const auto& entry : stores[0]->entries()) updates.push_back(*stores[0]->newest_updates(entry.name));
    for (const auto& entry : stores[1]->entries()) updates.push_back(*stores[1]->newest_updates(entry.name));
    return updates;
  }

  /// The steps that the run which has just ended has reported, in order.
  std::vector<std::int64_t> steps() {
    log.end_run();
    std::vector<std::int64_t> steps;
    for (const auto& step : log.take()) steps.push_back(step.step);
    return steps;
  }

  TrainingSpec spec;
  Dataset data;
  MetricsLog log;
  Plan plan;
  std::vector<std::shared_ptr<ParameterStore>> stores;
  std::vector<PartSetup> setups;
};

std::vector<std::int64_t> consecutive(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> consecutive;
  for (auto i = first; i < first + count; ++i) consecutive.push_back(i);
  return consecutive;
}

}  // namespace

TEST_CASE("a worker that is lost costs its work in flight: every batch is applied once, by every shard") {
  const auto rule =
      GENERATE(ConsistencyRule::asynchronous(3), ConsistencyRule::bounded(3, 0), ConsistencyRule::bounded(3, 1),
               ConsistencyRule::bounded(3, 4), ConsistencyRule::compensated(3, 0.04));
  const bool looks_up = GENERATE(false, true);
  CAPTURE(rule.staleness, looks_up);
  const auto seeds = schedules(48);
  std::uint64_t lost_in_run = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    INFO("seed " << seed);
    Servers job(rule, seed % 2 == 0 ? Grain::fused : Grain::per_op, seed, looks_up);
    REQUIRE(job.plan.expendable == std::vector{2, 3});
    SpawnedPlan plan(job.setups, job.plan);
    job.log.begin(0);
    plan.start({0, kLastStep, 0, 0});
    run_some(job.setups, seed, uniform_below(2'000, seed, 1, 1));
    lost_in_run += plan.done() ? 0 : 1;
    plan.lose(2);
    if (seed % 3 == 0) run_some(job.setups, seed + 1, uniform_below(500, seed, 2, 1));
    if (seed % 3 == 0) plan.lose(3);
    plan.wait();
    CHECK(job.steps() == consecutive(0, kBatches));
    CHECK(std::ranges::all_of(job.updates(), [](auto updates) { return updates == kBatches; }));
    job.log.begin(kBatches);
    plan.start({kBatches, kLastStep, 1, 0});
    plan.wait();
    CHECK(job.steps() == consecutive(kBatches, kBatches));
    CHECK(std::ranges::all_of(job.updates(), [](auto updates) { return updates == 2 * kBatches; }));
    const auto staleness = job.log.shard_log()->staleness();
    CHECK(staleness.applied.rbegin()->first <= rule.staleness);
  }
  CHECK(lost_in_run > seeds / 2);
}

TEST_CASE("backup workers that are lost: the others go on, and shards stay alike") {
  for (std::uint64_t seed = 0; seed < schedules(96); ++seed) {
    INFO("seed " << seed);
    Servers job(ConsistencyRule::with_backup(3, 1), Grain::fused, seed, seed % 2 == 0);
    SpawnedPlan plan(job.setups, job.plan);
    job.log.begin(0);
    plan.start({0, kLastStep, 0, 0});
    run_some(job.setups, seed, uniform_below(2'000, seed, 1, 1));
    plan.lose(2);
    plan.wait();
    const auto updates = job.updates();
    CHECK(std::ranges::count(updates, updates.front()) == static_cast<std::ptrdiff_t>(updates.size()));
    CHECK(updates.front() >= kBatches / 3);
    CHECK(updates.front() <= kBatches);
  }
}

TEST_CASE("without any worker left a run fails, and says so") {
  Servers job(ConsistencyRule::asynchronous(2), Grain::fused, 5);
  SpawnedPlan plan(job.setups, job.plan);
  plan.start({0, kLastStep, 0, 0});
  run_some(job.setups, 5, 400);
  plan.lose(2);
  plan.lose(3);
  CHECK_THROWS_WITH(plan.wait(), Contains("[dispatcher] all workers are lost"));
}

TEST_CASE("a run fails if its last worker is lost and another worker was lost before the run") {
  Servers job(ConsistencyRule::asynchronous(2), Grain::fused, 5);
  SpawnedPlan plan(job.setups, job.plan);
  plan.start({0, kLastStep, 0, 0});
  run_some(job.setups, 5, 400);
  plan.lose(2);
  plan.wait();
  plan.start({kBatches, kLastStep, 1, 0});
  run_some(job.setups, 6, 400);
  plan.lose(3);
  CHECK_THROWS_WITH(plan.wait(), Contains("[dispatcher] all workers are lost"));
}

TEST_CASE("a run fails if all workers were lost before it") {
  Servers job(ConsistencyRule::asynchronous(2), Grain::fused, 5);
  SpawnedPlan plan(job.setups, job.plan);
  plan.start({0, 4, 0, 0});
  plan.wait();
  plan.lose(2);
  plan.lose(3);
  plan.start({4, kLastStep, 0, 4});
  CHECK_THROWS_WITH(plan.wait(), Contains("[dispatcher] all workers are lost"));
}

TEST_CASE("a replay fails if a worker is lost to which the recording gives batches") {
  const auto recording = std::make_shared<Recording>(1, "the same");
  {
    Servers job(ConsistencyRule::asynchronous(2), Grain::fused, 5);
    for (auto& setup : job.setups) setup.context.record = recording;
    SpawnedPlan plan(job.setups, job.plan);
    plan.start({0, kLastStep, 0, 0});
    plan.wait();
  }
  Servers job(ConsistencyRule::asynchronous(2), Grain::fused, 7);
  for (auto& setup : job.setups) setup.context.replay = recording;
  SpawnedPlan plan(job.setups, job.plan);
  plan.start({0, kLastStep, 0, 0});
  run_some(job.setups, 7, 400);
  plan.lose(2);
  CHECK_THROWS_WITH(plan.wait(), Contains("[replay] the recording gives batches to worker 0, which is lost"));
}

TEST_CASE("who is not expendable cannot be lost") {
  Servers job(ConsistencyRule::asynchronous(2), Grain::fused, 5);
  SpawnedPlan plan(job.setups, job.plan);
  CHECK_THROWS_WITH(plan.lose(1), Contains("part 1 cannot be lost"));
}
