#include "troupe/strategies/step/pipeline_batches.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/checkpoint/checkpoints.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The rows of small_dataset(50).
Pipeline rows_of_50() {
  const auto data = small_dataset(50);
  std::vector<std::int32_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (std::size_t i = 0; i < data.fields().size(); ++i) {
    const auto& [name, info] = data.fields()[i];
    arrays.emplace_back(name, Tensor(info.shape.with_rows(50), info.dtype));
    data.gather(all, i, arrays.back().second);
  }
  return Pipeline::from_arrays(arrays);
}

/// Batches of rows with noise, in another order each epoch. The pipeline is indexed, or drops rows.
Pipeline noisy_batches(bool indexed) {
  const auto noise = [](const RowView& in, RowWriter& out, RowRandom& random) {
    const auto features = in["features"].clone();
    for (auto& x : features.mutable_data<float>()) x += 0.1F * random.normal();
    out.set("features", features);
  };
  if (indexed) return rows_of_50().shuffle().map(noise).batch(16);
  const auto keep = [](const RowView&, RowRandom& random) { return random.chance(0.9F); };
  return rows_of_50().filter(keep).shuffle(10).map(noise).batch(16);
}

/// The number of steps of a training, and its parameters.
struct Trained {
  std::int64_t steps;
  std::string hash;
};

/// A fit without a stop.
Trained whole_fit(Runtime& runtime, const Strategy& strategy, const BatchSource& batches, std::int64_t epochs = 3) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  trainer.fit(batches, {.epochs = epochs});
  return {trainer.steps(), trainer.parameters().hash()};
}

/// The parameters after `steps` steps, with stops after other numbers of steps.
std::string stopped_fits(Runtime& runtime, const Strategy& strategy, const BatchSource& batches, std::int64_t steps) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  for (const auto stop : {std::int64_t{1}, std::int64_t{5}, steps})
    trainer.fit(batches, {.epochs = 3, .max_steps = stop - trainer.steps()});
  return trainer.parameters().hash();
}

}  // namespace

TEST_CASE("batches of a pipeline train to the bits of the same batches of a data set") {
  for (int replicas : {1, 3}) {
    auto runtime = scheduled_runtime(7, replicas);
    const Mirrored strategy(cpu_devices(replicas));
    const auto expected = train(runtime, strategy, small_dataset(50).batch(16), Grain::fused, 3);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    const auto result = trainer.fit(batch_source("rows", rows_of_50().batch(16)), {.epochs = 3});
    CHECK(result.steps == 12);
    CHECK(trainer.parameters().hash() == expected.hash);
    CHECK(trainer.evaluate(batch_source("rows", rows_of_50().batch(16))).rows == 50);
  }
}

TEST_CASE("a pipeline gives the same bits for every number of threads, schedule and stop") {
  const Mirrored strategy(cpu_devices(2));
  for (const bool indexed : {true, false}) {
    const auto pipeline = noisy_batches(indexed);
    Runtime threads({.cpu_devices = 2});
    const auto expected = whole_fit(threads, strategy, batch_source("rows", pipeline, {.seed = 9, .threads = 3}));
    CHECK(expected.steps >= 9);
    for (std::uint64_t seed = 0; seed < schedules(6); ++seed) {
      auto runtime = scheduled_runtime(seed, 2);
      const auto batches = batch_source("rows", pipeline, {.seed = 9, .threads = static_cast<int>(1 + seed % 4)});
      CHECK(whole_fit(runtime, strategy, batches).hash == expected.hash);
      CHECK(stopped_fits(runtime, strategy, batches, expected.steps) == expected.hash);
    }
    CHECK(whole_fit(threads, strategy, batch_source("rows", pipeline, {.seed = 8})).hash != expected.hash);
  }
}

TEST_CASE("a fit on a pipeline goes on from a checkpoint to the same bits") {
  const auto folder = std::filesystem::temp_directory_path() / ("pipeline-" + std::to_string(getpid()));
  auto runtime = scheduled_runtime(4, 2);
  const Mirrored strategy(cpu_devices(2));
  for (const bool indexed : {true, false}) {
    const auto batches = batch_source("rows", noisy_batches(indexed), {.seed = 2});
    const auto expected = whole_fit(runtime, strategy, batches);
    const auto path = (folder / (indexed ? "indexed" : "in_order")).string();
    auto first = small_trainer(runtime, strategy, {.seed = 3});
    first.fit(batches, {.epochs = 3, .max_steps = 5, .checkpoints = Checkpoints{.folder = path, .every_steps = 1}});
    auto second = small_trainer(runtime, strategy, {.seed = 3});
    REQUIRE(second.resume(path));
    second.fit(batches, {.epochs = 3, .max_steps = expected.steps - 5});
    CHECK(second.steps() == expected.steps);
    CHECK(second.parameters().hash() == expected.hash);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("a fit continues at the position in a checkpoint, without the rows before") {
  const auto folder = std::filesystem::temp_directory_path() / ("position-" + std::to_string(getpid()));
  auto runtime = scheduled_runtime(4, 2);
  const Mirrored strategy(cpu_devices(2));
  auto read = std::make_shared<std::atomic<int>>(0);
  const auto rows = Pipeline::from_function("counted", {{"features", DType::float32, {4, 3}}, {"labels", DType::int32}},
                                            2'000, [read](std::int64_t index, RowWriter& row) {
                                              ++*read;
                                              for (auto& x : row.make<float>("features", {4, 3}))
                                                x = static_cast<float>(index % 7);
                                              row.make<std::int32_t>("labels", {})[0] =
                                                  static_cast<std::int32_t>(index % 2);
                                            });
  const auto pipeline = rows.shuffle(30).batch(16);
  const auto steps = [&](const BatchSource& batches, std::int64_t count, bool resumes) {
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    CHECK(trainer.resume(folder.string()) == resumes);
    trainer.fit(batches, {.max_steps = count, .checkpoints = Checkpoints{.folder = folder.string()}});
    return trainer.parameters().hash();
  };
  const auto expected = whole_fit(runtime, strategy, batch_source("rows", pipeline), 1);
  steps(batch_source("rows", pipeline), 100, false);
  *read = 0;
  // The first 100 batches have 1,600 rows. A row may have been in the buffer for some time.
  CHECK(steps(batch_source("rows", pipeline), 25, true) == expected.hash);
  CHECK(*read <= 400 + 400);
  std::filesystem::remove_all(folder);
  // The position of another pipeline is of no use, and the batches before are read again.
  steps(batch_source("rows", pipeline), 100, false);
  *read = 0;
  steps(batch_source("rows", rows.shuffle(20).batch(16)), 25, true);
  CHECK(*read == 2'000);
  std::filesystem::remove_all(folder);
}

TEST_CASE("an error of a pipeline fails the step and names the row") {
  auto runtime = scheduled_runtime(4, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  auto fails = std::make_shared<bool>(true);
  const auto broken = rows_of_50().map([fails](const RowView& in, RowWriter&, RowRandom&) {
    if (*fails && in.origin().number == 40) throw std::runtime_error("a broken image");
  });
  for (const auto& pipeline : {broken, broken.shuffle(1)}) {
    *fails = true;
    const auto batches = batch_source("rows", pipeline.batch(16));
    CHECK_THROWS_WITH(trainer.fit(batches), Contains("[map] row 40: a broken image"));
    *fails = false;
    CHECK(trainer.fit(batches).epochs.at(0).complete);
  }
}

TEST_CASE("pipelines that make no batches of one shape are refused") {
  CHECK_THROWS_WITH(batch_source("rows", rows_of_50()),
                    "[rows] the rows of the pipeline are no batches: end it with "
                    "batch()");
  CHECK_THROWS_WITH(batch_source("rows", rows_of_50().batch(4), {.threads = -1}), Contains("must not be negative"));
  const auto words = Pipeline::from_function("words", {{"x", DType::float32, {RowField::kVaries}}}, 9,
                                             [](std::int64_t i, RowWriter& row) { row.make<float>("x", {i}); });
  CHECK_THROWS_WITH(batch_source("words", words.padded_batch({.rows = 3})),
                    Contains("use padded_batch() with one length"));
  CHECK(batch_source("words", words.padded_batch({.rows = 3, .lengths = {8}})).most_rows == 3);
}
