#include "troupe/strategies/training/training_run.hpp"

#include <cmath>
#include <stdexcept>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/early_stopping.hpp"
#include "troupe/strategies/training/model_summary.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/with_precision.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("evaluating in between does not disturb training, and fits go on where the last one ended") {
  auto runtime = scheduled_runtime(1, 2);
  const Mirrored strategy(cpu_devices(2));
  const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 4);
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  for (int epoch = 0; epoch < 4; ++epoch) {
    trainer.fit(data_of_50());
    trainer.evaluate(data_of_50());
  }
  CHECK(trainer.steps() == 16);
  CHECK(trainer.parameters().hash() == expected.hash);
}

TEST_CASE("fewer steps, no epochs, and a stop that is asked for") {
  auto runtime = scheduled_runtime(2, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  CHECK(trainer.fit(data_of_50(), {.epochs = 9, .max_steps = 6}).steps == 6);
  CHECK(trainer.fit(data_of_50(), {.epochs = 0}).steps == 0);
  CHECK_THROWS_AS(trainer.fit(data_of_50(), {.epochs = -1}), Error);
  CHECK_THROWS_WITH(trainer.fit(data_of_50().take(0)), Contains("no data"));
  CHECK(trainer.evaluate(data_of_50().take(0)).rows == 0);
  Runtime threads({.cpu_devices = 2});
  auto endless = small_trainer(threads, strategy);
  const auto result = endless.fit(data_of_50(), {.epochs = 1'000'000, .stop_requested = [&] { return true; }});
  CHECK(result.stopped);
  CHECK(endless.parameters().hash(0) == endless.parameters().hash(1));
}

TEST_CASE("a fit that is stopped in mid-epoch goes on there, to the same bits") {
  for (int replicas : {1, 2, 3}) {
    auto runtime = scheduled_runtime(3, replicas);
    const Mirrored strategy(cpu_devices(replicas));
    const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 3);
    // An epoch has 4 steps.
    for (const std::vector<std::int64_t>& parts : {std::vector<std::int64_t>{1, 2, 3, 6}, {5, 7}, {4, 8}, {11, 1}}) {
      auto trainer = small_trainer(runtime, strategy, {.seed = 3});
      std::vector<double> losses;
      for (const auto steps : parts)
        trainer.fit(data_of_50(), {.epochs = 9, .max_steps = steps, .on_step = [&](const StepMetrics& step) {
                                     CHECK(step.step == static_cast<std::int64_t>(losses.size()));
                                     losses.push_back(step.loss);
                                   }});
      CHECK(losses == expected.losses);
      CHECK(trainer.parameters().hash() == expected.hash);
    }
  }
}

TEST_CASE("a fit between the epochs of a fit: every step is counted once, and the outer one goes on behind it") {
  for (std::uint64_t seed = 0; seed < schedules(6); ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const Mirrored strategy(cpu_devices(2));
    const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 5);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    std::vector<std::int64_t> epochs;
    const auto note = [&](const EpochMetrics& epoch) { epochs.push_back(epoch.epoch); };
    const auto outer = trainer.fit(data_of_50(), {.epochs = 3, .on_epoch = [&](const EpochMetrics& epoch) {
                                                    note(epoch);
                                                    if (epoch.epoch == 0)
                                                      trainer.fit(data_of_50(), {.epochs = 2, .on_epoch = note});
                                                  }});
    CHECK(outer.steps == 12);
    CHECK(epochs == std::vector<std::int64_t>{0, 1, 2, 3, 4});
    CHECK(trainer.steps() == 20);
    CHECK(trainer.parameters().hash() == expected.hash);
    // The steps of the inner fit stay, even if the callback throws after it.
    CHECK_THROWS_WITH(trainer.fit(data_of_50(), {.epochs = 3,
                                                 .on_epoch =
                                                     [&](const EpochMetrics&) {
                                                       trainer.fit(data_of_50(), {.epochs = 1, .max_steps = 2});
                                                       throw std::runtime_error("enough");
                                                     }}),
                      Contains("enough"));
    CHECK(trainer.steps() == 26);
    CHECK(trainer.parameters().position().batch == 2);
  }
}

TEST_CASE("a trainer cannot be used in on_step, however short the fit is") {
  auto runtime = scheduled_runtime(4, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  using Use = std::function<void()>;
  for (const auto& use : {Use([&] { trainer.evaluate(data_of_50()); }), Use([&] { trainer.predict(data_of_50()); }),
                          Use([&] { trainer.fit(data_of_50()); }), Use([&] { trainer.start(data_of_50()); })})
    CHECK_THROWS_WITH(trainer.fit(data_of_50(), {.on_step = [&](const StepMetrics&) { use(); }}),
                      Contains("[trainer] cannot be used in on_step"));
  // All four have ended in order, and after an epoch that was complete the next one begins.
  CHECK(trainer.fit(data_of_50(), {.max_steps = 3}).steps == 3);
}

TEST_CASE("a run that has ended before it is asked to call back calls back at once") {
  auto runtime = scheduled_runtime(3, 1);
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy);
  const auto run = trainer.start(data_of_50());
  while (runtime.run_one()) continue;
  int calls = 0;
  run->on_progress([&] { ++calls; });
  CHECK(calls == 1);
  CHECK(run->advance());
  CHECK(run->result().steps == 4);
}

TEST_CASE("the rest of an epoch counts as one; other data begins a new one") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  CHECK_FALSE(trainer.fit(data_of_50(), {.epochs = 5, .max_steps = 3}).epochs.at(0).complete);
  const auto rest = trainer.fit(data_of_50(), {.epochs = 2});
  CHECK(rest.steps == 1 + 4);
  CHECK(rest.rows == 2 + 50);
  CHECK(rest.epochs.at(0).complete);
  CHECK(rest.epochs.at(1).epoch == 1);
  trainer.fit(data_of_50(), {.max_steps = 1});
  const auto other = trainer.fit(data_of_50().batch(10));
  CHECK(other.steps == 5);
  CHECK(other.epochs.at(0).epoch == 3);
}

TEST_CASE("a stop that is asked for loses no batch") {
  Runtime threads({.cpu_devices = 2});
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(threads, strategy, {.seed = 3});
  const auto first = trainer.fit(data_of_50(), {.epochs = 1'000'000, .stop_requested = [&] { return true; }});
  CHECK(first.stopped);
  const auto epochs = trainer.steps() / 4 + 1;
  trainer.fit(data_of_50(), {.epochs = 1'000'000, .max_steps = 4 * epochs - trainer.steps()});
  CHECK(trainer.steps() == 4 * epochs);
  auto whole = small_trainer(threads, strategy, {.seed = 3});
  whole.fit(data_of_50(), {.epochs = epochs});
  CHECK(whole.parameters().hash() == trainer.parameters().hash());
}

TEST_CASE("a fit with pauses makes the same steps, and the trainer may be used in between") {
  for (int replicas : {1, 2}) {
    auto runtime = scheduled_runtime(5, replicas);
    const Mirrored strategy(cpu_devices(replicas));
    const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 3);
    for (const std::int64_t every : {1, 2, 3, 4, 5, 100}) {
      auto trainer = small_trainer(runtime, strategy, {.seed = 3});
      std::vector<std::int64_t> paused_at, rows;
      const auto result =
          trainer.fit(data_of_50(), {.epochs = 3, .pause_every = every, .on_pause = [&](const Metrics& since) {
                                       CHECK(since.steps == every);
                                       CHECK(trainer.evaluate(data_of_50()).rows == 50);
                                       paused_at.push_back(trainer.steps());
                                     }});
      INFO("every " << every);
      CHECK(paused_at.size() == static_cast<std::size_t>(12 / every));
      for (std::size_t i = 0; i < paused_at.size(); ++i)
        CHECK(paused_at[i] == static_cast<std::int64_t>(i + 1) * every);
      CHECK(result.steps == 12);
      REQUIRE(result.epochs.size() == 3);
      for (const auto& epoch : result.epochs) {
        CHECK(epoch.training.rows == 50);
        CHECK(epoch.complete);
      }
      CHECK(trainer.parameters().hash() == expected.hash);
    }
  }
}

namespace {

/// Mirrored, which counts the plans that it makes.
class PlanCounter final : public Mirrored {
 public:
  PlanCounter() : Mirrored(cpu_devices(1)) {}
  Plan training_plan(const PlanRequest& request) const override {
    ++plans;
    return Mirrored::training_plan(request);
  }
  mutable int plans = 0;
};

}  // namespace

TEST_CASE("short fits and pauses on the same data make one plan, and other data makes another") {
  auto runtime = scheduled_runtime(2);
  const PlanCounter strategy;
  auto trainer = small_trainer(runtime, strategy);
  for (int i = 0; i < 3; ++i) trainer.fit(data_of_50(), {.max_steps = 1});
  trainer.fit(data_of_50(), {.max_steps = 4, .pause_every = 1});
  CHECK(strategy.plans == 1);
  trainer.fit(data_of_50().batch(5), {.max_steps = 1});
  CHECK(strategy.plans == 2);
}

TEST_CASE("early stopping ends a fit before the next epoch begins") {
  auto runtime = scheduled_runtime(5, 1);
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy);
  EarlyStopping stopping(2);
  double loss = 3.0;
  const auto result = trainer.fit(
      data_of_50(), {.epochs = 100,
                     .on_epoch = [&](const EpochMetrics&) { stopping.report(loss = std::max(1.0, loss - 1.0)); },
                     .stop_requested = [&] { return stopping.reached(); }});
  // 2, 1, 1, 1: the third is the first without a gain.
  CHECK(result.epochs.size() == 4);
  CHECK(result.stopped);
  CHECK(trainer.steps() == 16);
  CHECK(stopping.best() == 1.0);
  CHECK_FALSE(stopping.report(std::nan("")));
}

TEST_CASE("parameters go out and in by name, partly and under other names") {
  auto runtime = scheduled_runtime(5, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trained = small_trainer(runtime, strategy, {.seed = 3});
  trained.fit(data_of_50());
  const auto arrays = trained.parameter_arrays();
  REQUIRE_FALSE(arrays.empty());
  for (const auto& [name, array] : arrays) CHECK(name.find('/') == std::string::npos);

  auto other = small_trainer(runtime, strategy, {.seed = 4});
  // Start values, in two parts.
  other.set_parameters({arrays[0]});
  other.set_parameters(Trainer::Arrays(arrays.begin() + 1, arrays.end()));
  CHECK(other.evaluate(data_of_50()).loss == Approx(trained.evaluate(data_of_50()).loss));
  const auto& [name, array] = arrays.front();
  other.set_parameters({{"old." + name, Tensor(array.shape(), DType::float32)}, {"unknown", array}},
                       [](const std::string& old) -> std::optional<std::string> {
                         if (!old.starts_with("old.")) return std::nullopt;
                         return old.substr(4);
                       });
  CHECK(other.parameters().get(name, 1).data<float>()[0] == 0.0F);
  CHECK_THROWS_WITH(other.set_parameters({{"unknown", array}}),
                    Contains("[trainer] the model has no parameter 'unknown'"));
}

TEST_CASE("a summary says what a model consists of") {
  auto runtime = scheduled_runtime(5, 1);
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy);
  const auto summary = summarize(trainer, data_of_50());
  std::int64_t elements = 0;
  for (const auto& row : summary.rows) elements += row.trained ? row.shape.elements() : 0;
  CHECK(summary.trained_elements == elements);
  trainer.fit(data_of_50());
  CHECK(summary.trained_elements == trainer.parameters().trained_elements());
  CHECK(summary.memory.total() > summary.memory.parameters);
  CHECK_THAT(to_string(summary), Contains("dense1") && Contains(std::to_string(elements) + " trained parameters"));
  CHECK_THAT(to_string(summary), Contains("products: ") && Contains(" in float32\n"));
}

TEST_CASE("a summary says in which dtypes a model multiplies", "[bfloat16]") {
  auto runtime = scheduled_runtime(5, 1);
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy);
  const auto in_float32 = summarize(trainer, data_of_50()).products;
  REQUIRE(in_float32.size() == 1);
  CHECK((in_float32[0].dtype == DType::float32 && !in_float32[0].converted && in_float32[0].ops > 2));
  const WithPrecision narrow(MatmulPrecision::bfloat16);
  const auto summary = summarize(trainer, data_of_50());
  const bool converted = !backend_of(Device{}).has_products_of(DType::bfloat16);
  CHECK(summary.products == std::vector{ModelSummary::Products{DType::bfloat16, converted, in_float32[0].ops}});
  CHECK_THAT(to_string(summary), Contains(" in bfloat16" + std::string(converted ? ", converted to float32\n" : "\n")));
}
