// Fits on data with records that a function of the data set cannot read.

#include <cmath>
#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/invalid_samples.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a record that a function cannot read is an unusable sample") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  for (const std::int64_t prefetched : {0, 2}) {
    const auto data = damaged_rows({21}, {}, prefetched);
    auto trainer = small_trainer(runtime, strategy);
    const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
    CHECK(result.skipped_batches == 1);
    REQUIRE(result.skipped_samples.size() == 1);
    CHECK(result.skipped_samples.front().sample == 21);
    CHECK_THAT(result.skipped_samples.front().text,
               Contains("[dataset] row 21 has no 'features'") && Contains("record 21 is damaged"));
    CHECK(result.steps == kSampleCount / kRowsOfBatch - 1);
  }
}

TEST_CASE("the row of a sample counts rows that skip() has removed, as the function of the data set does") {
  const auto strategy_number = GENERATE(0, 1, 2);
  const auto places = places_of(cpu_devices(2));
  const Mirrored mirrored(cpu_devices(2));
  const ParameterServer synchronous(places, {Place{}}, ConsistencyRule::synchronous(2));
  const ParameterServer asynchronous(places, {Place{}}, ConsistencyRule::asynchronous(2));
  const Strategy* const strategies[] = {&mirrored, &synchronous, &asynchronous};
  auto runtime = scheduled_runtime(3, 2);
  auto trainer = small_trainer(runtime, *strategies[strategy_number]);
  for (const auto& all : {damaged_rows({21}), damaged_rows({21}, {}, 2), rows_without({}, {21})})
    for (const auto& data : {all.skip(5), all.skip(2).skip(9).take(30), all.skip(11).shuffle(kSampleCount)}) {
      const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
      REQUIRE(result.skipped_samples.size() == 1);
      CHECK(result.skipped_samples.front().sample == 21);
      CHECK_THAT(result.skipped_samples.front().text, Contains("row 21 "));
      const auto row_of_error = [](const auto& reads) {
        try {
          reads();
        } catch (const InvalidSample& invalid) {
          return invalid.sample();
        }
        return InvalidSample::kUnknown;
      };
      CHECK(row_of_error([&] { trainer.evaluate(data); }) == 21);
    }
}

TEST_CASE("a fit leaves out each record that cannot be read, also one by which the data is recognized") {
  auto runtime = scheduled_runtime(3, 2);
  const OneDevice strategy;
  for (const std::int64_t bad : {0, 16, 24, 47}) {
    const auto data = damaged_rows({bad});
    auto expected = small_trainer(runtime, strategy);
    expected.fit(damaged_rows({bad}), {.on_invalid_sample = InvalidSamples::skip});
    auto trainer = small_trainer(runtime, strategy);
    INFO("row " << bad);
    std::int64_t steps = 0, skipped = 0;
    for (const std::int64_t most : {1, 1, 10}) {
      const auto result = trainer.fit(data, {.max_steps = most, .on_invalid_sample = InvalidSamples::skip});
      steps += result.steps;
      skipped += result.skipped_batches;
    }
    // The fits resumed the epoch, so they are those of one epoch.
    CHECK(steps == kSampleCount / kRowsOfBatch - 1);
    CHECK(skipped == 1);
    CHECK(trainer.parameters().hash() == expected.parameters().hash());
  }
}

TEST_CASE("a fit goes on after a record that cannot be read, by which the data is recognized") {
  auto runtime = scheduled_runtime(3, 2);
  const OneDevice strategy;
  for (const std::int64_t bad : {0, 16, 24, 47}) {
    auto trainer = small_trainer(runtime, strategy);
    INFO("row " << bad);
    try {
      trainer.fit(damaged_rows({bad}));
      FAIL("the record was read");
    } catch (const InvalidSample& invalid) {
      CHECK(invalid.sample() == bad);
    }
    const auto batches = kSampleCount / kRowsOfBatch;
    CHECK(trainer.steps() == bad / kRowsOfBatch);
    // The last batch ends the epoch, so the next fit begins one that has the record again.
    if (bad / kRowsOfBatch < batches - 1)
      CHECK(trainer.fit(damaged_rows({bad})).steps == batches - 1 - bad / kRowsOfBatch);
  }
}

TEST_CASE("a fit that cannot recognize its data keeps its position") {
  auto runtime = scheduled_runtime(3, 2);
  const OneDevice strategy;
  bool fails = false;
  const auto read = [&fails](std::int64_t row, std::span<float> to) {
    if (fails && row == kSampleCount - 1) throw OutOfMemory("allocator", "out of memory");
    std::ranges::fill(to, 0.5F);
  };
  const auto data = rows_read_by(read);
  auto trainer = small_trainer(runtime, strategy);
  fails = true;
  CHECK_THROWS_WITH(trainer.fit(data, {.max_steps = 2}), Contains("[allocator] out of memory"));
  CHECK(trainer.steps() == 2);
  // The exception of a callback is passed on, not the one of the data.
  const auto on_step = [](const StepMetrics&) { throw std::runtime_error("the disk is full"); };
  CHECK_THROWS_WITH(trainer.fit(data, {.max_steps = 2, .on_step = on_step}), Contains("the disk is full"));
  CHECK(trainer.steps() == 4);
  fails = false;
  CHECK(trainer.fit(data).steps == kSampleCount / kRowsOfBatch - 4);
}

TEST_CASE(
    "a record that is loaded ahead is left out after the bad label of an earlier batch, and no batch between them") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const OneDevice strategy;
    auto trainer = small_trainer(runtime, strategy);
    const auto result = trainer.fit(damaged_rows({33}, {17}, 3), {.on_invalid_sample = InvalidSamples::skip});
    INFO("seed " << seed);
    CHECK(result.steps == kSampleCount / kRowsOfBatch - 2);
    CHECK(result.skipped_batches == 2);
    CHECK(skipped_rows(result) == std::vector<std::int64_t>{17, 33});
  }
}

TEST_CASE("a loss that is not finite ends the fit although a record that is loaded ahead cannot be read") {
  const auto read = [](std::int64_t row, std::span<float> to) {
    if (row == 33) throw std::runtime_error("record 33 is damaged");
    std::ranges::fill(to, row >= 16 && row < 24 ? std::nanf("") : 0.5F);
  };
  const auto data = rows_read_by(read).prefetch(3);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const OneDevice strategy;
    auto trainer = small_trainer(runtime, strategy);
    CHECK_THROWS_WITH(trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip}),
                      Contains("[loss] is not finite: nan (op loss, step 2"));
    // The record is still ahead.
    const auto rest =
        trainer.fit(data, {.on_non_finite_loss = NonFiniteLoss::skip, .on_invalid_sample = InvalidSamples::skip});
    CHECK(skipped_rows(rest) == std::vector<std::int64_t>{33});
  }
}

TEST_CASE("a function of the data set that runs out of memory fails the fit, and leaves no batch out") {
  auto runtime = scheduled_runtime(3, 2);
  const OneDevice strategy;
  const auto read = [](std::int64_t row, std::span<float> to) {
    if (row == 13) throw OutOfMemory("allocator", "out of memory");
    std::ranges::fill(to, 0.5F);
  };
  const auto data = rows_read_by(read);
  auto trainer = small_trainer(runtime, strategy);
  CHECK_THROWS_WITH(trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip}),
                    Contains("[allocator] out of memory"));
}
