#include "troupe/strategies/central_storage.hpp"

#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a central storage trains to the bits of a mirrored strategy, whichever place it is") {
  const int replicas = GENERATE(1, 2, 3);
  const int storage_device = GENERATE(0, 5);
  CAPTURE(replicas, storage_device);
  for (std::uint64_t seed = 0; seed < schedules(3); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto mirrored = train(runtime, Mirrored(cpu_devices(replicas)), data_of_50(), Grain::fused);
    const CentralStorage strategy(places_of(cpu_devices(replicas)), {0, {DeviceType::cpu, storage_device}});
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    std::vector<double> losses;
    trainer.fit(data_of_50(), {.epochs = 2, .on_step = [&](const StepMetrics& step) { losses.push_back(step.loss); }});
    CHECK(losses == mirrored.losses);
    CHECK(trainer.parameters().hash(0) == mirrored.hash);
  }
}

TEST_CASE("a central storage has as many replicas as places, waits for all of them and can lose none") {
  const CentralStorage strategy({{0, {}}, {1, {}}, {2, {}}}, {0, {}});
  CHECK(strategy.num_replicas_in_sync() == 3);
  CHECK(strategy.shares_steps());
  CHECK(strategy.expendable().empty());
  CHECK_THROWS_AS(CentralStorage({}, {0, {}}), Error);
}
