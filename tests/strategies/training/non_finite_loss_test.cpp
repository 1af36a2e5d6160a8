#include <cmath>
#include <limits>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Five batches of eight rows; the second half of batch 2 is broken, and if `to_the_end` what comes after it.
Dataset broken_data(bool to_the_end) {
  Tensor features(Shape{40, 4, 3}, DType::float32), labels(Shape{40}, DType::int32);
  for (std::int64_t i = 0; i < features.elements(); ++i) {
    const auto row = i / 12;
    const bool broken = row >= 20 && (to_the_end || row < 24);
    features.mutable_data<float>()[i] =
        broken ? std::numeric_limits<float>::quiet_NaN() : 0.25F * static_cast<float>(i % 7);
  }
  return Dataset(features, labels, 2).batch(8);
}

std::unique_ptr<Strategy> strategy_for(int replicas) {
  if (replicas == 1) return std::make_unique<OneDevice>();
  return std::make_unique<Mirrored>(cpu_devices(replicas));
}

/// Every copy of every parameter and of the optimizer's state.
std::vector<float> state_of(const ParameterStore& store) {
  std::vector<float> all;
  for (const auto& entry : store.entries())
    for (int copy = 0; copy < entry.copies; ++copy) {
      const auto tensor = store.get(entry.name, copy);
      all.insert(all.end(), tensor.data<float>().begin(), tensor.data<float>().end());
    }
  return all;
}

}  // namespace

TEST_CASE("a loss that is not finite ends the fit with step and replica, and its update is made by no replica") {
  for (int replicas : {1, 2}) {
    const auto strategy = strategy_for(replicas);
    auto threadless = scheduled_runtime(0, replicas);
    auto two_steps = small_trainer(threadless, *strategy);
    two_steps.fit(broken_data(true), {.max_steps = 2});
    const auto expected = state_of(two_steps.parameters());
    for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
      auto runtime = scheduled_runtime(seed, replicas);
      auto trainer = small_trainer(runtime, *strategy, {.grain = kGrains[seed % 3]});
      // The rows of batch 2 that are broken are those of the last replica.
      CHECK_THROWS_WITH(
          trainer.fit(broken_data(true), {.epochs = 5}),
          Contains("[loss] is not finite: nan (op loss, step 2, replica " + std::to_string(replicas - 1) + ")"));
      CHECK(trainer.parameters().broken().empty());
      CHECK(state_of(trainer.parameters()) == expected);
    }
  }
}

TEST_CASE("a fit that skips a step whose loss is not finite goes on as if the step had not been") {
  for (int replicas : {1, 2}) {
    const auto strategy = strategy_for(replicas);
    const auto data = broken_data(false);
    auto threadless = scheduled_runtime(0, replicas);
    auto without = small_trainer(threadless, *strategy);
    without.fit(data, {.max_steps = 2});
    auto position = without.parameters().position();
    ++position.step;
    ++position.batch;
    without.parameters().set_position(position);
    without.fit(data);
    const auto expected = state_of(without.parameters());
    for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
      auto runtime = scheduled_runtime(seed, replicas);
      auto trainer = small_trainer(runtime, *strategy, {.grain = kGrains[seed % 3]});
      const auto result = trainer.fit(data, {.on_non_finite_loss = NonFiniteLoss::skip});
      CHECK(state_of(trainer.parameters()) == expected);
      CHECK(result.steps == 5);
      const auto& metrics = result.epochs.at(0).training;
      CHECK(metrics.steps == 5);
      CHECK(metrics.skipped_steps == 1);
      CHECK(metrics.rows == 32);
      CHECK(std::isfinite(metrics.loss));
    }
  }
}

TEST_CASE("the run ends at the first such step, in order, and the same trainer trains on other data") {
  const Mirrored strategy(cpu_devices(2));
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    auto trainer = small_trainer(runtime, strategy, {.grain = kGrains[seed % 3]});
    CHECK_THROWS_WITH(trainer.fit(broken_data(false), {.epochs = 50}), Contains("step 2, replica 1"));
    CHECK(trainer.steps() >= 3);
    CHECK(trainer.parameters().broken().empty());
    CHECK(trainer.parameters().hash(0) == trainer.parameters().hash(1));
    trainer.fit(data_of_50());
    CHECK(trainer.evaluate(data_of_50()).loss < 1.0);
  }
}

TEST_CASE("an evaluation whose loss is not finite says in which batch") {
  auto runtime = scheduled_runtime(0, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  CHECK_THROWS_WITH(trainer.evaluate(broken_data(true)), Contains("nan (op loss, step 2, replica 1)"));
}
