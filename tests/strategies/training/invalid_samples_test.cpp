// Fits on data with samples that cannot be used.

#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kSampleCount = 48;
constexpr std::int64_t kRowsOfBatch = 8;
constexpr std::int32_t kBadLabel = 1'000;

/// Rows [first, end) of the small data set without the rows in `without`. The labels of the rows in `bad` are no class.
Dataset rows_without(const std::set<std::int64_t>& without, const std::set<std::int64_t>& bad = {}) {
  const auto all = small_dataset(kSampleCount);
  const auto labels = all.array("labels");
  std::vector<std::int32_t> rows;
  for (std::int32_t row = 0; row < kSampleCount; ++row)
    if (!without.contains(row)) rows.push_back(row);
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor kept(Shape{count, 4, 3}, DType::float32), kept_labels(Shape{count}, DType::int32);
  all.gather(rows, 0, kept);
  for (std::size_t i = 0; i < rows.size(); ++i)
    kept_labels.mutable_data<std::int32_t>()[i] =
        bad.contains(rows[i]) ? kBadLabel : labels.data<std::int32_t>()[static_cast<std::size_t>(rows[i])];
  return Dataset::from_arrays({{"features", kept}, {"labels", kept_labels}}).batch(kRowsOfBatch);
}

std::set<std::int64_t> batch_of(std::int64_t row) {
  std::set<std::int64_t> rows;
  for (auto first = row / kRowsOfBatch * kRowsOfBatch, i = first; i < first + kRowsOfBatch; ++i) rows.insert(i);
  return rows;
}

/// Fits until the epoch is over; each error is an InvalidSample, whose row is put into `bad`.
void fit_again_and_again(Trainer& trainer, const Dataset& data, std::vector<std::int64_t>& bad) {
  while (true) {
    try {
      trainer.fit(data);
      return;
    } catch (const InvalidSample& invalid) {
      bad.push_back(invalid.sample());
      REQUIRE(bad.size() < 10);
      CHECK_THAT(invalid.what(),
                 Contains("label 1000") && Contains("row " + std::to_string(bad.back()) + " of the data set"));
    }
  }
}

std::vector<std::unique_ptr<Strategy>> synchronous_strategies() {
  std::vector<std::unique_ptr<Strategy>> all;
  all.push_back(std::make_unique<OneDevice>());
  all.push_back(std::make_unique<Mirrored>(cpu_devices(2)));
  all.push_back(std::make_unique<Mirrored>(cpu_devices(3)));
  all.push_back(std::make_unique<ParameterServer>(places_of(cpu_devices(2)), places_of(cpu_devices(1)),
                                                  ConsistencyRule::synchronous(2)));
  return all;
}

}  // namespace

TEST_CASE("the batch of a label that is no class changes nothing, and the next fit goes on after it") {
  const auto rest = rows_without(batch_of(13));
  for (const auto& strategy : synchronous_strategies())
    for (const auto grain : {Grain::fused, Grain::per_op}) {
      auto runtime = scheduled_runtime(3, 3);
      auto expected = small_trainer(runtime, *strategy, {.seed = 3, .grain = grain});
      expected.fit(rest);
      for (const bool skips : {false, true}) {
        auto trainer = small_trainer(runtime, *strategy, {.seed = 3, .grain = grain});
        const auto data = rows_without({}, {13});
        std::vector<std::int64_t> bad;
        if (skips) {
          const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
          CHECK(result.skipped_batches == 1);
          CHECK(result.steps == kSampleCount / kRowsOfBatch - 1);
          CHECK(result.epochs.size() == 1);
          CHECK(result.epochs.front().complete);
          for (const auto& sample : result.skipped_samples) bad.push_back(sample.sample);
        } else {
          fit_again_and_again(trainer, data, bad);
        }
        CHECK(bad == std::vector<std::int64_t>{13});
        CHECK(trainer.steps() == kSampleCount / kRowsOfBatch - 1);
        CHECK(trainer.parameters().hash() == expected.parameters().hash());
      }
    }
}

TEST_CASE("the row of a sample is its row in the data set, also in shuffled data and after several bad samples") {
  for (const auto& strategy : synchronous_strategies()) {
    auto runtime = scheduled_runtime(3, 3);
    const std::set<std::int64_t> wrong{5, 17, 40};
    auto trainer = small_trainer(runtime, *strategy, {.seed = 11});
    const auto data = rows_without({}, wrong).shuffle(kSampleCount);
    const auto result = trainer.fit(data, {.epochs = 2, .on_invalid_sample = InvalidSamples::skip});
    std::set<std::int64_t> found;
    for (const auto& sample : result.skipped_samples) found.insert(sample.sample);
    for (const auto row : found) CHECK(wrong.contains(row));
    // A batch with two of the samples names one of them; two epochs have other batches.
    CHECK(found.size() >= 2);
    CHECK(result.steps + result.skipped_batches == 2 * kSampleCount / kRowsOfBatch);
    CHECK(result.epochs.size() == 2);
  }
}

TEST_CASE("a bad sample in the first or the last batch, or in all of them, ends no fit that leaves it out") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  for (const std::set<std::int64_t>& bad : {std::set<std::int64_t>{0}, {kSampleCount - 1}, {0, 8, 16, 24, 32, 40}}) {
    auto trainer = small_trainer(runtime, strategy);
    const auto result = trainer.fit(rows_without({}, bad), {.epochs = 2, .on_invalid_sample = InvalidSamples::skip});
    const auto skipped = static_cast<std::int64_t>(bad.size());
    CHECK(result.skipped_batches == 2 * skipped);
    CHECK(result.steps == 2 * (kSampleCount / kRowsOfBatch - skipped));
    CHECK(result.epochs.size() == 2);
  }
}

TEST_CASE("asynchronous servers leave a bad sample out") {
  auto runtime = scheduled_runtime(3, 3);
  const auto places = places_of(cpu_devices(2));
  const ParameterServer servers(places, places_of(cpu_devices(1)), ConsistencyRule::asynchronous(2));
  auto trainer = small_trainer(runtime, servers);
  const auto data = rows_without({}, {13});
  const auto result = trainer.fit(data, {.epochs = 2, .on_invalid_sample = InvalidSamples::skip});
  // The worker makes no further step of the run, so batches that it was given already are left out, too.
  CHECK(result.skipped_batches >= 2);
  REQUIRE(result.skipped_samples.size() == 2);
  for (const auto& sample : result.skipped_samples) CHECK(sample.sample == 13);
  CHECK(result.epochs.size() == 2);
  // Each batch was passed once: half a batch of the data set is a step.
  CHECK(result.steps == 2 * 2 * kSampleCount / kRowsOfBatch);
}

TEST_CASE("a record that a function cannot read is an unusable sample") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  for (const std::int64_t prefetched : {0, 2}) {
    auto labels = small_dataset(kSampleCount).array("labels");
    const auto read = [](std::int64_t row, std::span<float> to) {
      if (row == 21) throw std::runtime_error("record 21 is damaged");
      std::ranges::fill(to, 0.1F * static_cast<float>(row % 5));
    };
    const auto width = small_dataset(kSampleCount).array("features").elements() / kSampleCount;
    const auto data = Dataset::of_rows(kSampleCount)
                          .with_function<float>("features", {width}, read)
                          .with_field("labels", labels)
                          .batch(kRowsOfBatch)
                          .prefetch(prefetched);
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

TEST_CASE(
    "a record that is loaded ahead is left out after the bad label of an earlier batch, and no batch between them") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const OneDevice strategy;
    const auto bad_label = rows_without({}, {17});
    const auto read = [](std::int64_t row, std::span<float> to) {
      if (row == 33) throw std::runtime_error("record 33 is damaged");
      std::ranges::fill(to, 0.1F * static_cast<float>(row % 5));
    };
    const auto data = Dataset::of_rows(kSampleCount)
                          .with_function<float>("features", {4, 3}, read)
                          .with_field("labels", bad_label.array("labels"))
                          .batch(kRowsOfBatch)
                          .prefetch(3);
    auto trainer = small_trainer(runtime, strategy);
    const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
    INFO("seed " << seed);
    CHECK(result.steps == kSampleCount / kRowsOfBatch - 2);
    CHECK(result.skipped_batches == 2);
    std::vector<std::int64_t> bad;
    for (const auto& sample : result.skipped_samples) bad.push_back(sample.sample);
    CHECK(bad == std::vector<std::int64_t>{17, 33});
  }
}

TEST_CASE("all processes leave out the batch of a sample that one of them cannot use") {
  const auto address = new_address();
  const auto policy = GENERATE(InvalidSamples::skip, InvalidSamples::stop);
  std::vector<std::string> hashes(2);
  std::vector<std::vector<std::int64_t>> bad(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    const auto data = rows_without({}, {13});
    if (policy == InvalidSamples::skip) {
      const auto result = trainer.fit(data, {.on_invalid_sample = policy});
      for (const auto& sample : result.skipped_samples) bad[at].push_back(sample.sample);
    } else {
      fit_again_and_again(trainer, data, bad[at]);
    }
    hashes[at] = trainer.parameters().hash();
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  CHECK(bad == std::vector<std::vector<std::int64_t>>{{13}, {13}});
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored mirrored(cpu_devices(2));
  auto expected = small_trainer(runtime, mirrored, {.seed = 3});
  expected.fit(rows_without(batch_of(13)));
  for (const auto& hash : hashes) CHECK(hash == expected.parameters().hash());
}

TEST_CASE("asynchronous servers in several processes pass each batch once around a bad sample") {
  const auto address = new_address();
  std::vector<FitResult> results(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const std::vector<Place> places{{0, {DeviceType::cpu, 0}}, {1, {DeviceType::cpu, 0}}};
    const ParameterServer servers(places, places, ConsistencyRule::asynchronous(2));
    auto trainer = small_trainer(runtime, servers, {.seed = 3, .cluster = cluster});
    results[static_cast<std::size_t>(rank)] =
        trainer.fit(rows_without({}, {13}), {.epochs = 2, .on_invalid_sample = InvalidSamples::skip});
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  for (const auto& result : results) {
    CHECK(result.steps == 2 * 2 * kSampleCount / kRowsOfBatch);
    CHECK(result.epochs.size() == 2);
    CHECK(result.skipped_batches == results.front().skipped_batches);
    REQUIRE(result.skipped_samples.size() == 2);
    for (const auto& sample : result.skipped_samples) CHECK(sample.sample == 13);
  }
}

TEST_CASE("strategies whose replicas train apart cannot leave samples out") {
  auto runtime = scheduled_runtime(3, 2);
  const LocalSgd local(places_of(cpu_devices(2)), {Place{}}, LocalSgdOptions{.local_steps = 3});
  auto trainer = small_trainer(runtime, local);
  CHECK_THROWS_WITH(trainer.fit(rows_without({}, {13}), {.on_invalid_sample = InvalidSamples::skip}),
                    Contains("[trainer] this strategy cannot leave out samples"));
  CHECK_THROWS_AS(trainer.fit(rows_without({}, {13})), InvalidSample);
}
