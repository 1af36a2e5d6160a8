// Fits on asynchronous servers with samples that cannot be used.

#include <set>
#include <stdexcept>

#include "troupe/ops/library/gather.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/invalid_samples.hpp"
#include "troupe/tests/strategies/training/one_weight.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("asynchronous servers leave a bad sample out") {
  auto runtime = scheduled_runtime(3, 3);
  const auto places = places_of(cpu_devices(2));
  const ParameterServer servers(places, places_of(cpu_devices(1)), ConsistencyRule::asynchronous(2));
  auto trainer = small_trainer(runtime, servers);
  const auto data = rows_without({}, {13});
  std::int64_t steps_reported = 0;
  const auto result = trainer.fit(data, {.epochs = 2,
                                         .on_step = [&](const StepMetrics&) { ++steps_reported; },
                                         .on_invalid_sample = InvalidSamples::skip});
  // The worker makes no further step of the run, so batches that it was given already are left out, too.
  CHECK(result.skipped_batches >= 2);
  REQUIRE(result.skipped_samples.size() == 2);
  for (const auto& sample : result.skipped_samples) CHECK(sample.sample == 13);
  CHECK(result.epochs.size() == 2);
  // Each batch was passed once: half a batch of the data set is a step. A batch that was left out is none.
  CHECK(result.steps + result.skipped_batches == 2 * 2 * kSampleCount / kRowsOfBatch);
  CHECK(result.epochs[0].training.steps + result.epochs[1].training.steps == result.steps);
  CHECK(result.rows == result.steps * kRowsOfBatch / 2);
  CHECK(steps_reported == result.steps);
}

TEST_CASE("a batch that is left out takes no gradient of other batches out of an accumulated update") {
  const auto data = Dataset::of_rows(12)
                        .with_function<float>("g", {1},
                                              [](std::int64_t row, std::span<float> to) {
                                                if (row == 4) throw std::runtime_error("the record is damaged");
                                                to[0] = 1.0F;
                                              })
                        .batch(2);
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::asynchronous(2));
    Trainer trainer(runtime, servers, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(2), kRowLoss);
    const auto result = trainer.fit(data, {.epochs = 3, .on_invalid_sample = InvalidSamples::skip});
    CHECK(result.staleness.gradients() == result.steps);
    CHECK(value_of(trainer.parameters(), "w") == -static_cast<float>(result.steps / 2));
  }
}

TEST_CASE("batches that are left out before the first update of asynchronous servers count as no update") {
  const auto data = Dataset::of_rows(12)
                        .with_function<float>("g", {1},
                                              [](std::int64_t row, std::span<float> to) {
                                                if (row < 2) throw std::runtime_error("the record is damaged");
                                                to[0] = 1.0F;
                                              })
                        .batch(2);
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::asynchronous(2));
    const auto rising = Schedule::from_ops([](Value step) { return step + 1.0F; });
    Trainer trainer(runtime, servers, times("w"), Sgd{.lr = rising}, kRowLoss);
    const auto steps = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip}).steps;
    CHECK(steps > 0);
    CHECK(value_of(trainer.parameters(), "w") == -static_cast<float>(steps * (steps + 1) / 2));
  }
}

TEST_CASE("a fit on asynchronous servers makes as many steps as it may, besides the batches that it leaves out") {
  auto runtime = scheduled_runtime(3, 3);
  const ParameterServer servers(places_of(cpu_devices(2)), places_of(cpu_devices(1)), ConsistencyRule::asynchronous(2));
  auto trainer = small_trainer(runtime, servers);
  const auto result = trainer.fit(rows_without({}, {1}), {.max_steps = 5, .on_invalid_sample = InvalidSamples::skip});
  CHECK(result.skipped_batches >= 1);
  CHECK(result.steps == 5);
  CHECK(result.rows == 5 * kRowsOfBatch / 2);
}

TEST_CASE("the row of a sample is right if several workers of asynchronous servers fail in one run") {
  const auto places = places_of(cpu_devices(3));
  const ParameterServer servers(places, places_of(cpu_devices(1)), ConsistencyRule::asynchronous(3));
  std::int64_t several = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto runtime = scheduled_runtime(seed, 3);
    const std::set<std::int64_t> bad{1, 5, 6};
    auto trainer = small_trainer(runtime, servers);
    const auto result = trainer.fit(rows_without({}, bad), {.on_invalid_sample = InvalidSamples::skip});
    INFO("seed " << seed);
    REQUIRE_FALSE(result.skipped_samples.empty());
    for (const auto& sample : result.skipped_samples) CHECK(bad.contains(sample.sample));
    several += result.skipped_batches - std::ssize(result.skipped_samples);
  }
  CHECK(several > 0);
}

TEST_CASE("the staleness of a fit is counted to the end if its last batch is left out") {
  auto runtime = scheduled_runtime(3, 3);
  const ParameterServer servers(places_of(cpu_devices(2)), places_of(cpu_devices(1)), ConsistencyRule::asynchronous(2));
  auto trainer = small_trainer(runtime, servers);
  const auto result = trainer.fit(rows_without({}, {kSampleCount - 1}), {.on_invalid_sample = InvalidSamples::skip});
  REQUIRE(result.skipped_batches == 1);
  CHECK(result.staleness.gradients() + result.staleness.dropped == result.steps);
}

TEST_CASE("a bad index of a row-sparse table on servers is reported with its row and leaves out its own batch") {
  // Row 3 has an index outside of the table, in the second of four batches and on worker 1.
  const auto words = Tensor::from<std::int32_t>({8}, std::vector<std::int32_t>{0, 1, 2, 99, 3, 4, 5, 6});
  const auto data = Dataset::from_arrays({{"word", words}}).batch(2);
  const Model model = [](const Inputs& in) -> Outputs {
    return gather(in.builder().row_sparse_parameter("table", {8, 1}, Initializer::zeros()), in["word"]);
  };
  const int shards = GENERATE(1, 2);
  const auto places = places_of(cpu_devices(2));
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const ParameterServer servers(places, {Place{}, Place{}}, ConsistencyRule::synchronous(2),
                                  {.sharding = {fixed_shards(shards), Placement::round_robin}});
    Trainer trainer(runtime, servers, model, Sgd{.lr = 1.0}, kRowLoss);
    const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
    CHECK(result.steps == 3);
    REQUIRE(result.skipped_samples.size() == 1);
    CHECK(result.skipped_samples.front().sample == 3);
    const auto table = trainer.parameters().get("table");
    const std::vector<float> rows(table.data<float>().begin(), table.data<float>().end());
    CHECK(rows == std::vector<float>{-0.5F, -0.5F, 0.0F, -0.5F, -0.5F, -0.5F, -0.5F, 0.0F});
    Trainer stopped(runtime, servers, model, Sgd{.lr = 1.0}, kRowLoss);
    CHECK_THROWS_WITH(stopped.fit(data), Contains("row 3 of the data set"));
    CHECK(stopped.parameters().position().batch == 2);
  }
}
