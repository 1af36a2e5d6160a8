// Fits of several processes on data with samples that cannot be used.

#include <functional>
#include <future>

#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/invalid_samples.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The results of two processes, each with one replica, that leave out the batches of bad samples. The process `rank`
/// trains on what `data_of` gives it.
std::vector<FitResult> fit_in_two(const std::function<Dataset(int rank)>& data_of) {
  const auto address = new_address();
  std::vector<FitResult> results(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    results[static_cast<std::size_t>(rank)] = trainer.fit(data_of(rank), {.on_invalid_sample = InvalidSamples::skip});
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  return results;
}

}  // namespace

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
      bad[at] = skipped_rows(trainer.fit(data, {.on_invalid_sample = policy}));
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

TEST_CASE("processes agree on data with a record that none of them can read") {
  for (const auto& result : fit_in_two([](int) { return damaged_rows({0}); })) {
    CHECK(result.steps == kSampleCount / kRowsOfBatch - 1);
    CHECK(skipped_rows(result) == std::vector<std::int64_t>{0});
  }
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
    CHECK(result.steps + result.skipped_batches == 2 * 2 * kSampleCount / kRowsOfBatch);
    CHECK(result.epochs.size() == 2);
    CHECK(result.skipped_batches == results.front().skipped_batches);
    REQUIRE(result.skipped_samples.size() == 2);
    for (const auto& sample : result.skipped_samples) CHECK(sample.sample == 13);
  }
}

TEST_CASE("the row of a record that cannot be read is unknown if each process has samples of its own") {
  const auto data_of = [](int rank) {
    return damaged_rows(rank == 1 ? std::set<std::int64_t>{13} : std::set<std::int64_t>{}).shard(DataSharding::file);
  };
  for (const auto& result : fit_in_two(data_of)) {
    CHECK(result.skipped_batches == 1);
    CHECK(skipped_rows(result) == std::vector{InvalidSample::kUnknown});
  }
}

TEST_CASE("an exception of on_step in one process after a bad sample ends the fit in all, with its text") {
  const auto address = new_address();
  const auto policy = GENERATE(InvalidSamples::skip, InvalidSamples::stop);
  std::vector<std::string> texts(2);
  std::vector<FitResult> next_fits(2);
  bool first_was_over = false;
  std::promise<void> first_is_over;
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    FitOptions options{.on_invalid_sample = policy};
    if (rank == 1) options.on_step = [](const StepMetrics&) { throw std::runtime_error("the disk is full"); };
    try {
      trainer.fit(rows_without({}, {13}), options);
    } catch (const std::exception& error) {
      texts[static_cast<std::size_t>(rank)] = error.what();
    }
    // The process of the exception goes on, so its end is no reason for the other one to end.
    if (rank == 0) first_is_over.set_value();
    if (rank == 1) first_was_over = first_is_over.get_future().wait_for(patience()) == std::future_status::ready;
    next_fits[static_cast<std::size_t>(rank)] =
        trainer.fit(rows_without({}, {13}), {.on_invalid_sample = InvalidSamples::skip});
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  CHECK(first_was_over);
  // The next fit leaves out the batch.
  for (const auto& next : next_fits) CHECK(skipped_rows(next) == std::vector<std::int64_t>{13});
  CHECK(texts[1] == "the disk is full");
  CHECK_THAT(texts[0], Contains("process 1 has thrown: the disk is full"));
}
