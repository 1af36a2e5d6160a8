#include "troupe/strategies/parameter_server.hpp"

#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<Place> cpu_places(int first, int count) {
  std::vector<Place> places;
  for (int i = 0; i < count; ++i) places.push_back({0, {DeviceType::cpu, first + i}});
  return places;
}

ParameterServer with_rule(const ConsistencyRule& rule, int servers) {
  return {cpu_places(0, rule.workers), cpu_places(rule.workers, servers), rule};
}

/// As train() of a trainer, but only the store's first copy is trained.
Outcome train_shards(Runtime& runtime, const Strategy& strategy, const Dataset& data, Grain grain,
                     Optimizer optimizer) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = grain}, std::move(optimizer));
  Outcome outcome;
  trainer.fit(data, {.epochs = 2, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  return outcome;
}

}  // namespace

TEST_CASE("synchronous shards come to the bits of a mirrored strategy") {
  const int workers = GENERATE(1, 2, 3);
  const int servers = GENERATE(1, 2);
  const auto grain = GENERATE(Grain::fused, Grain::per_op);
  const bool adam = GENERATE(false, true);
  const Optimizer optimizer = adam ? Optimizer(Adam{.lr = 0.01}) : Optimizer(Sgd{.lr = 0.1, .momentum = 0.5});
  CAPTURE(workers, servers, grain, adam);
  for (std::uint64_t seed = 0; seed < schedules(3); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto mirrored = train(runtime, Mirrored(cpu_devices(workers)), data_of_50(), grain, 2, optimizer);
    const auto sharded = train_shards(runtime, with_rule(ConsistencyRule::synchronous(workers), servers), data_of_50(),
                                      grain, optimizer);
    CHECK(sharded.losses == mirrored.losses);
    CHECK(sharded.hash == mirrored.hash);
  }
}

TEST_CASE("workers that do not wait for each other: each batch once, no gradient beyond its bound") {
  const auto [rule, updates] =
      GENERATE(std::pair{ConsistencyRule::asynchronous(3), 18}, std::pair{ConsistencyRule::bounded(3, 0), 18},
               std::pair{ConsistencyRule::bounded(3, 1), 18}, std::pair{ConsistencyRule::bounded(3, 4), 18},
               std::pair{ConsistencyRule::compensated(3, 0.04), 18}, std::pair{ConsistencyRule::with_backup(3, 1), -1});
  const int servers = GENERATE(1, 2);
  CAPTURE(rule.quorum, rule.staleness, servers);
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto strategy = with_rule(rule, servers);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    std::vector<std::int64_t> steps;
    const auto result = trainer.fit(
        data_of_50(), {.epochs = 2, .on_step = [&](const StepMetrics& step) { steps.push_back(step.step); }});
    CHECK(result.rows == 100);
    CHECK(result.steps == 18);  // of 6 rows, the last of an epoch of 2
    CHECK(std::ranges::is_sorted(steps));
    std::int64_t applied = 0;
    for (const auto& [staleness, count] : result.staleness.applied) {
      CHECK(staleness <= rule.staleness);
      applied += count;
    }
    CHECK(applied + result.staleness.dropped == 18 * servers);
    if (updates > 0) CHECK(applied == updates * servers);
    CHECK(result.epochs[1].training.loss < result.epochs[0].training.loss);
  }
}
