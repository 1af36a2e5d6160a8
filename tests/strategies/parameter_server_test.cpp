#include "troupe/strategies/parameter_server.hpp"

#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/mirrored.hpp"
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

/// Trains like train() of a trainer. Only the first copy in the store is trained.
Outcome train_shards(Runtime& runtime, const Strategy& strategy, const Dataset& data, Grain grain,
                     Optimizer optimizer) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = grain}, std::move(optimizer));
  Outcome outcome;
  trainer.fit(data, {.epochs = 2, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  return outcome;
}

/// Places on the first core of some processes.
std::vector<Place> on_cores_of(std::initializer_list<int> processes) {
  std::vector<Place> places;
  for (const int process : processes) places.push_back({process, {DeviceType::cpu, 0}});
  return places;
}

/// The elements that the parameters of the small model take on each of two servers, in processes 1 and 2. The size of a
/// parameter in a block is a multiple of 16.
std::vector<std::int64_t> elements_of_servers(Placement placement) {
  const ParameterServer strategy(on_cores_of({0}), on_cores_of({1, 2}), ConsistencyRule::synchronous(1),
                                 {.sharding = {unpartitioned(), placement}});
  const auto plan = strategy.training_plan({small_spec(), data_of_50(), 0, {}});
  std::vector<std::int64_t> elements(2);
  for (const auto& actor : plan.actors)
    if (actor.task.kind == "shard")
      elements.at(static_cast<std::size_t>(actor.place.process) - 1) += actor.outputs.front().info.shape.elements();
  return elements;
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

TEST_CASE("shards give parameters the start values of a mirrored strategy, whether they are trained or not") {
  const auto places = places_of(cpu_devices(2));
  const Mirrored mirrored(places);
  const ParameterServer servers(places, {Place{}, Place{}}, ConsistencyRule::synchronous(2));
  const LocalSgd local(places, {Place{}});
  const auto frozen = Optimizer(Sgd{.lr = 0.1}).frozen([](const std::string& name) { return name == "dense1.bias"; });
  const auto start_of = [&](const Strategy& strategy, const Optimizer& optimizer, bool evaluates) {
    auto runtime = scheduled_runtime(1, 2);
    auto trainer = small_trainer(runtime, strategy, {.seed = 1}, optimizer);
    if (evaluates) trainer.evaluate(data_of_50());
    trainer.fit(data_of_50(), {.max_steps = 0});
    return trainer.parameters().hash();
  };
  const auto expected = start_of(mirrored, frozen, false);
  for (const Strategy* strategy : {static_cast<const Strategy*>(&servers), static_cast<const Strategy*>(&local)})
    for (const bool evaluates : {false, true}) {
      CHECK(start_of(*strategy, frozen, evaluates) == expected);
      CHECK(start_of(*strategy, Sgd{.lr = 0.1}, evaluates) == expected);
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

TEST_CASE("a batch larger than the data is one of all rows, of which each worker trains its part") {
  const auto rule = GENERATE(ConsistencyRule::asynchronous(3), ConsistencyRule::bounded(3, 1),
                             ConsistencyRule::with_backup(3, 1), ConsistencyRule::synchronous(3));
  const auto strategy = with_rule(rule, 2);
  const std::int64_t rows = 20, parts = strategy.shares_steps() ? 1 : 3;
  for (const std::int64_t batch : {19, 20, 21, 60, 1'000}) {
    CAPTURE(rule.quorum, rule.staleness, batch);
    auto runtime = scheduled_runtime(4);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    const auto result = trainer.fit(small_dataset(rows).batch(batch), {.epochs = 2});
    CHECK(result.rows == 2 * rows);
    CHECK(result.steps == 2 * (batch < rows && parts == 1 ? 2 : parts));
    CHECK(trainer.parameters().position().epoch == 2);
    CHECK(trainer.parameters().position().batch == 0);
  }
}

TEST_CASE("processes that have workers alone are expendable where a step is of one worker") {
  const auto workers = on_cores_of({0, 1, 1, 2, 3});
  ParameterServer strategy(workers, on_cores_of({3}), ConsistencyRule::asynchronous(5));
  CHECK(strategy.expendable() == std::set{1, 2});
  CHECK(strategy.forward_places() == on_cores_of({0, 3}));
  strategy.set_forward_places(on_cores_of({2}));
  CHECK(strategy.expendable() == std::set{1});
  CHECK(strategy.forward_places() == on_cores_of({2}));
  const ParameterServer together(workers, on_cores_of({3}), ConsistencyRule::synchronous(5));
  CHECK(together.expendable().empty());
  CHECK(together.forward_places() == workers);
}

TEST_CASE("evaluation runs on rank 0 where all workers may be lost") {
  const ParameterServer strategy(on_cores_of({1, 2}), on_cores_of({0}), ConsistencyRule::asynchronous(2));
  CHECK(strategy.expendable() == std::set{1, 2});
  CHECK(strategy.forward_places() == on_cores_of({0}));
}

// The backward pass makes gradients of 16, 2, 96 and 8 elements, in this order.
TEST_CASE("parameters go to the servers round robin, or each to the server with the fewest elements so far") {
  CHECK(elements_of_servers(Placement::round_robin) == std::vector<std::int64_t>{16 + 96, 16 + 16});
  CHECK(elements_of_servers(Placement::fewest_elements) == std::vector<std::int64_t>{16 + 16, 16 + 96});
}

TEST_CASE("a strategy without servers, or with a rule for other workers, is refused by name") {
  const auto two = on_cores_of({0, 0});
  CHECK_THROWS_WITH(ParameterServer(two, {}, ConsistencyRule::synchronous(2)),
                    "[parameter_server] needs at least one server");
  CHECK_THROWS_WITH(ParameterServer(two, two, ConsistencyRule::synchronous(3)),
                    "[parameter_server] the rule is for 3 workers, but there are 2");
  CHECK_THROWS_WITH(ParameterServer(two, two, ConsistencyRule::bounded(2, -1)), Contains("staleness"));
}
