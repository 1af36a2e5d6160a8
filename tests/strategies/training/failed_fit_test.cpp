// The position and the parameters after a fit that an error has ended.

#include <cmath>
#include <stdexcept>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kBatchesOfOnes = 10, kOnesOfBatch = 4, kNoRow = -1;

/// Rows of ones. The function of the field cannot read row `damaged`.
Dataset rows_of_ones(std::int64_t damaged = kNoRow) {
  return Dataset::of_rows(kBatchesOfOnes * kOnesOfBatch)
      .with_function<float>("x", {1},
                            [damaged](std::int64_t row, std::span<float> to) {
                              if (row == damaged) throw std::runtime_error("the record is damaged");
                              to[0] = 1.0F;
                            })
      .batch(kOnesOfBatch);
}

/// A trainer of one parameter that every step makes smaller by 1.
Trainer trainer_of_ones(Runtime& runtime, const Strategy& strategy, std::shared_ptr<Cluster> cluster = nullptr) {
  const auto model = [](const Inputs& in) -> Outputs {
    return mul(in["x"], in.builder().parameter("w", {1}, Initializer::zeros()));
  };
  const auto loss = [](const Outputs& outputs, const Inputs&) { return reshape(outputs[""], {kBatch}); };
  return {runtime, strategy, model, Sgd{.lr = 1.0}, loss, {.cluster = std::move(cluster)}};
}

float parameter_of(const Trainer& trainer) {
  return trainer.parameters().get("w").data<float>()[0];
}

LocalSgd local(int workers, std::int64_t steps) {
  return {places_of(cpu_devices(workers)), {Place{}}, {.local_steps = steps}};
}

}  // namespace

TEST_CASE("after an exception of a callback, a fit of local steps goes on after the steps that the parameters hold") {
  const auto workers = GENERATE(1, 2);
  const std::int64_t local_steps = GENERATE(1, 3, 50);
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto strategy = local(workers, local_steps);
    auto trainer = trainer_of_ones(runtime, strategy);
    const auto on_pause = [](const Metrics&) { throw std::runtime_error("the program has failed"); };
    CHECK_THROWS_WITH(trainer.fit(rows_of_ones(), {.pause_every = 4, .on_pause = on_pause}),
                      Contains("the program has failed"));
    CHECK(trainer.steps() == 4);
    CHECK(parameter_of(trainer) == -4.0F);
    const auto on_step = [](const StepMetrics&) { throw std::runtime_error("the program has failed again"); };
    CHECK_THROWS_WITH(trainer.fit(rows_of_ones(), {.on_step = on_step}), Contains("failed again"));
    CHECK(parameter_of(trainer) == static_cast<float>(-trainer.steps()));
  }
}

TEST_CASE("after an exception, a fit with backup workers trains no batch twice") {
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::with_backup(2, 1));
    auto trainer = trainer_of_ones(runtime, servers);
    const auto on_pause = [](const Metrics&) { throw std::runtime_error("the program has failed"); };
    CHECK_THROWS_WITH(trainer.fit(rows_of_ones(), {.pause_every = 4, .on_pause = on_pause}), Contains("has failed"));
    CHECK(trainer.steps() == 4);
    // A worker computes half a batch of the data set.
    CHECK(trainer.fit(rows_of_ones()).steps == 2 * kBatchesOfOnes - 4);
  }
}

TEST_CASE("a record that a worker of local SGD cannot read costs the worker's parts alone, and no part counts twice") {
  const auto workers = GENERATE(1, 2);
  const std::int64_t local_steps = GENERATE(1, 3, 50);
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    CAPTURE(workers, local_steps, seed);
    auto runtime = scheduled_runtime(seed);
    const auto strategy = local(workers, local_steps);
    auto trainer = trainer_of_ones(runtime, strategy);
    const auto data = rows_of_ones(5 * kOnesOfBatch + 1);  // worker 0 has the row
    std::int64_t steps = 0, rows = 0;
    const auto on_step = [&](const StepMetrics& step) {
      rows += step.rows;
      CHECK(step.step == steps++);
      CHECK(step.rows == (step.step < 5 ? kOnesOfBatch : kOnesOfBatch / workers));
      CHECK(step.batch_rows == kOnesOfBatch);
    };
    CHECK_THROWS_AS(trainer.fit(data, {.on_step = on_step}), InvalidSample);
    CHECK(trainer.steps() == steps);
    const auto passed = steps + (workers == 1 ? 1 : 0);
    CHECK(steps >= 5);
    // A copy is weighted by the rows that have changed it, so with one step in a round each step counts whole.
    if (workers == 1 || local_steps == 1)
      CHECK(parameter_of(trainer) == static_cast<float>(-steps));
    else
      CHECK(parameter_of(trainer) <= -5.0F);
    if (passed < kBatchesOfOnes) CHECK(trainer.fit(data).steps == kBatchesOfOnes - passed);
  }
}

TEST_CASE("all processes agree on the position of a failed fit of local steps") {
  enum class Cause { sample, on_pause, on_step };
  const auto cause = GENERATE(Cause::sample, Cause::on_pause, Cause::on_step);
  const auto address = new_address();
  std::vector<std::int64_t> failed(2), passed(2);
  float parameter = 0.0F;
  const auto ends = on_processes(2, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 1});
    const std::vector<Place> places{{0, {DeviceType::cpu, 0}}, {1, {DeviceType::cpu, 0}}};
    const LocalSgd strategy(places, {Place{}}, {.local_steps = 3});
    auto trainer = trainer_of_ones(runtime, strategy, cluster);
    // Worker 1 has the row.
    const auto data = rows_of_ones(cause == Cause::sample ? 5 * kOnesOfBatch + 3 : kNoRow);
    FitOptions options;
    if (cause == Cause::on_pause) options.pause_every = 4;
    if (cause == Cause::on_pause && rank == 1)
      options.on_pause = [](const Metrics&) { throw std::runtime_error("the disk is full"); };
    if (cause == Cause::on_step && rank == 1)
      options.on_step = [](const StepMetrics&) { throw std::runtime_error("the disk is full"); };
    try {
      trainer.fit(data, options);
    } catch (const std::exception&) {
      // A fit in process 0 may have ended before process 1 throws.
    }
    failed[at] = trainer.steps();
    if (rank == 0) parameter = parameter_of(trainer);  // the server is in process 0
    passed[at] = trainer.fit(data, {.max_steps = kBatchesOfOnes - failed[at]}).steps;
    cluster->leave();
  });
  CAPTURE(static_cast<int>(cause));
  CHECK(ends == Ends(2));
  CHECK(failed[0] == failed[1]);
  CHECK(passed[0] == passed[1]);
  CHECK(failed[0] + passed[0] == kBatchesOfOnes);
  if (cause != Cause::sample) CHECK(parameter == static_cast<float>(-failed[0]));
}

TEST_CASE("after a failed fit, all processes have the rows of a parameter that servers of several processes train") {
  const bool callback_throws = GENERATE(false, true);
  const auto address = new_address();
  std::vector<std::vector<float>> failed(2), trained(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 1});
    const std::vector<Place> places{{0, {DeviceType::cpu, 0}}, {1, {DeviceType::cpu, 0}}};
    const ParameterServer servers(places, {{0, {}}, {1, {}}}, ConsistencyRule::synchronous(2),
                                  {.sharding = {fixed_shards(2)}});
    const auto model = [](const Inputs& in) -> Outputs {
      return mul(in["x"], in.builder().parameter("w", {2}, Initializer::zeros()));
    };
    const auto loss = [](const Outputs& outputs, const Inputs&) {
      return reduce_sum(outputs[""], std::vector<std::int64_t>{1});
    };
    Trainer trainer(runtime, servers, model, Sgd{.lr = 1.0}, loss, {.cluster = cluster});
    const auto data = Dataset::of_rows(40).with_function<float>("x", {2}, [&](std::int64_t row, std::span<float> to) {
      std::ranges::fill(to, row == 20 && !callback_throws ? std::nanf("") : 1.0F);
    });
    FitOptions options;
    if (callback_throws && rank == 1)
      options.on_step = [](const StepMetrics&) { throw std::runtime_error("the disk is full"); };
    try {
      trainer.fit(data.batch(2), options);
    } catch (const std::exception&) {
      // A fit in process 0 may have ended before process 1 throws.
    }
    const auto values = [&] {
      const auto w = trainer.parameters().get("w");
      return std::vector<float>(w.data<float>().begin(), w.data<float>().end());
    };
    failed[at] = values();
    trainer.fit(data.batch(2), {.max_steps = 20 - trainer.steps(), .on_non_finite_loss = NonFiniteLoss::skip});
    trained[at] = values();
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  CHECK(failed[0] == std::vector<float>(2, failed[0].front()));
  CHECK(failed[1] == failed[0]);
  CHECK(trained == std::vector(2, std::vector<float>(2, callback_throws ? -20.0F : -19.0F)));
}

TEST_CASE("asynchronous servers apply the gradients of all steps that are reported before and after a bad record") {
  const auto rule = GENERATE(ConsistencyRule::asynchronous(2), ConsistencyRule::bounded(2, 4));
  // Workers compute at the same time, so that one has steps in progress when the other fails.
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, rule);
  auto trainer = trainer_of_ones(runtime, servers);
  const auto data = Dataset::of_rows(400).with_function<float>("x", {1}, [](std::int64_t row, std::span<float> to) {
    if (row % 10 == 7) throw std::runtime_error("the record is damaged");
    to[0] = 1.0F;
  });
  const auto result = trainer.fit(data.batch(2), {.on_invalid_sample = InvalidSamples::skip});
  CHECK(result.steps + result.skipped_batches == 400);
  CHECK(result.skipped_batches >= 40);
  CHECK(parameter_of(trainer) == static_cast<float>(-result.steps));
  CHECK(result.staleness.gradients() == result.steps);
}
