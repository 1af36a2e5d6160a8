#include "troupe/strategies/local_sgd.hpp"

#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Outcome train_local(Runtime& runtime, const LocalSgd& strategy, Grain grain, const Optimizer& optimizer) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = grain}, optimizer);
  Outcome outcome;
  trainer.fit(data_of_50(),
              {.epochs = 3, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  return outcome;
}

LocalSgd local(int workers, int servers, std::int64_t steps, const Optimizer& outer = Sgd{.lr = 1.0}) {
  return {places_of(cpu_devices(workers)), std::vector<Place>(static_cast<std::size_t>(servers)), {steps, outer}};
}

}  // namespace

TEST_CASE("with one local step the mean of the workers' parameters is what a mirrored strategy comes to") {
  const int workers = GENERATE(1, 2, 3);
  const int servers = GENERATE(1, 2);
  const Optimizer optimizer = Sgd{.lr = 0.1};
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto mirrored = train(runtime, Mirrored(cpu_devices(workers)), data_of_50(), Grain::fused, 3, optimizer);
    const auto averaged = train_local(runtime, local(workers, servers, 1), Grain::fused, optimizer);
    REQUIRE(averaged.losses.size() == mirrored.losses.size());
    for (std::size_t i = 0; i < mirrored.losses.size(); ++i)
      CHECK_THAT(averaged.losses[i], Catch::Matchers::WithinRel(mirrored.losses[i], 1e-4));
  }
}

TEST_CASE("several local steps come to the same bits for any schedule, grain and number of servers") {
  const bool momentum = GENERATE(false, true);
  const Optimizer outer = momentum ? Sgd{.lr = 0.7, .momentum = 0.9, .nesterov = true} : Sgd{.lr = 1.0};
  auto first = scheduled_runtime(0);
  const auto expected = train_local(first, local(3, 1, 3, outer), Grain::fused, Adam{.lr = 0.01});
  CHECK(expected.losses.back() < expected.losses.front());
  for (std::uint64_t seed = 1; seed <= schedules(9); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto grain = seed % 2 == 0 ? Grain::fused : Grain::per_op;
    CHECK(train_local(runtime, local(3, 1 + static_cast<int>(seed % 3), 3, outer), grain, Adam{.lr = 0.01}) ==
          expected);
  }
}

TEST_CASE("a step without rows is no update of the worker's optimizer state") {
  auto runtime = scheduled_runtime(0);
  const auto strategy = local(3, 1, 2);
  auto trainer = small_trainer(runtime, strategy, {.seed = 3}, Adam{.lr = 0.01});
  trainer.fit(data_of_50());
  int states = 0;
  for (const auto& entry : trainer.parameters().entries())
    for (int worker = 0; worker < 3; ++worker) {
      if (entry.name.find("/worker" + std::to_string(worker) + "/") == std::string::npos) continue;
      ++states;
      // The last of four batches has two rows, none of them for worker 2.
      CHECK(trainer.parameters().newest_updates(entry.name) == (worker == 2 ? 3 : 4));
    }
  CHECK(states > 0);
}

TEST_CASE("workers without a local step are refused") {
  CHECK_THROWS_WITH(local(2, 1, 0), Contains("[local_sgd] needs at least one local step, not 0"));
}
