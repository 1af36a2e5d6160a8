// Processes as threads, each with a runtime and a cluster of its own.

#include "troupe/strategies/multi_worker_mirrored.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

struct WorkerResult {
  Outcome outcome;
  double evaluated = 0.0;
};

/// Trains `replicas` replicas a process on what `data_of` gives it.
std::vector<WorkerResult> train_on(int processes, int replicas, const std::function<Dataset(int rank)>& data_of,
                                   const MirroredOptions& options, Ends& ends) {
  const auto address = new_address();
  std::vector<WorkerResult> results(static_cast<std::size_t>(processes));
  ends = on_processes(processes, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, processes, address));
    Runtime runtime({.workers = 1, .cpu_devices = processes * replicas});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(replicas), options);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    auto& result = results[static_cast<std::size_t>(rank)];
    const auto data = data_of(rank);
    trainer.fit(data,
                {.epochs = 2, .on_step = [&](const StepMetrics& step) { result.outcome.losses.push_back(step.loss); }});
    result.evaluated = trainer.evaluate(data).loss;
    result.outcome.hash = trainer.parameters().hash();
    cluster->leave();
  });
  return results;
}

std::vector<WorkerResult> train_on(int processes, int replicas, const std::function<Dataset(int rank)>& data_of,
                                   const MirroredOptions& options = {}) {
  Ends ends;
  auto results = train_on(processes, replicas, data_of, options, ends);
  CHECK(ends == Ends(static_cast<std::size_t>(processes)));
  for (const auto& result : results) {
    CHECK(result.outcome == results.front().outcome);
    CHECK(result.evaluated == results.front().evaluated);
  }
  return results;
}

/// These samples of a data set, in this order.
Dataset pick(const Dataset& all, const std::vector<std::int32_t>& samples) {
  Dataset::Arrays arrays;
  for (std::size_t i = 0; i < all.fields().size(); ++i) {
    const auto& [name, info] = all.fields()[i];
    const Tensor picked(info.shape.with_rows(static_cast<std::int64_t>(samples.size())), info.dtype);
    all.gather(samples, i, picked);
    arrays.emplace_back(name, picked);
  }
  return Dataset::from_arrays(arrays);
}

Outcome train_in_one(int replicas, const Dataset& data, const MirroredOptions& options = {}) {
  Runtime runtime({.workers = 1, .cpu_devices = replicas});
  return train(runtime, Mirrored(cpu_devices(replicas), options), data, Grain::fused);
}

}  // namespace

TEST_CASE("processes that share every batch come to the bits of as many replicas in one process") {
  const auto [processes, replicas] = GENERATE(std::pair{2, 1}, std::pair{2, 2}, std::pair{3, 1});
  const auto results = train_on(processes, replicas, [](int) { return data_of_50(); });
  CHECK(results.front().outcome == train_in_one(processes * replicas, data_of_50()));
}

TEST_CASE("gradients that are made smaller on their way come to the same bits in one process and several") {
  const MirroredOptions options{.first_bucket_bytes = 64,
                                .bucket_bytes = 256,
                                .hook = gradient_hook_of(GENERATE("float16", "bfloat16", "top_k:0.2", "power_sgd:1"))};
  const auto results = train_on(
      2, 2, [](int) { return data_of_50(); }, options);
  CHECK(results.front().outcome == train_in_one(4, data_of_50(), options));
}

TEST_CASE("sums round a ring and in a hierarchy are the same on all processes, and near those of one") {
  const auto algorithm = GENERATE(AllReduceAlgorithm::ring, AllReduceAlgorithm::hierarchy);
  const auto results = train_on(3, 1, [](int) { return data_of_50(); }, {.all_reduce = algorithm});
  const auto one = train_in_one(3, data_of_50());
  REQUIRE(results.front().outcome.losses.size() == one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    CHECK_THAT(results.front().outcome.losses[i], Catch::Matchers::WithinRel(one.losses[i], 1e-5));
}

TEST_CASE("processes with files of their own train as one with the samples of each batch one after the other") {
  // Rank 0 has rows 0-7 of a batch of 16.
  const auto all = small_dataset(48).batch(16);
  const auto part = [&](int rank) {
    std::vector<std::int32_t> own;
    for (std::int32_t sample = 0; sample < 48; ++sample)
      if (sample % 16 / 8 == rank) own.push_back(sample);
    return pick(all, own).batch(16).shard(DataSharding::file);
  };
  const auto results = train_on(2, 1, part);
  CHECK(results.front().outcome == train_in_one(2, all));
}

TEST_CASE("uneven files: every sample counts the same, and the epoch ends with the longest") {
  const auto all = small_dataset(50);
  const auto part = [&](int rank) {
    return (rank == 0 ? all.take(35) : all.skip(35)).batch(10).shard(DataSharding::file);
  };
  const auto results = train_on(2, 2, part);
  Runtime runtime({.workers = 1});
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  // The same batches by hand, each as an epoch: 5 of the 35 samples, and 5 of the 15 as long as there are any.
  std::vector<double> losses;
  for (std::int32_t step = 0; step < 14; ++step) {
    std::vector<std::int32_t> samples;
    for (std::int32_t i = 0; i < 5; ++i) samples.push_back(step % 7 * 5 + i);
    for (std::int32_t i = 0; i < 5 && step % 7 < 3; ++i) samples.push_back(35 + step % 7 * 5 + i);
    trainer.fit(pick(all, samples).batch(10),
                {.epochs = 1, .on_step = [&](const StepMetrics& metrics) { losses.push_back(metrics.loss); }});
  }
  REQUIRE(losses.size() == results.front().outcome.losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK_THAT(results.front().outcome.losses[i], Catch::Matchers::WithinRel(losses[i], 1e-4));
}

TEST_CASE("a process without samples of its own takes part in every step") {
  const auto all = small_dataset(30);
  const auto results =
      train_on(2, 1, [&](int rank) { return all.take(rank == 0 ? 30 : 0).batch(10).shard(DataSharding::file); });
  const auto one = train_in_one(1, all.batch(5));
  REQUIRE(results.front().outcome.losses.size() == one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    CHECK_THAT(results.front().outcome.losses[i], Catch::Matchers::WithinRel(one.losses[i], 1e-5));
}

TEST_CASE("a fit goes on within its epoch if all shards are as they were, else with the next epoch") {
  using Position = std::pair<std::int64_t, std::int64_t>;  // epoch and batch
  const auto address = new_address();
  const auto samples = [](std::int64_t rows) { return small_dataset(rows).batch(16).shard(DataSharding::file); };
  std::vector<std::vector<Position>> positions(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    // In the end rank 0 still has the samples that it had: what rank 1 has decides it there too.
    for (const std::int64_t rows : {24, 24, rank == 0 ? 24 : 20}) {
      trainer.fit(samples(rows), {.max_steps = 1});
      const auto position = trainer.parameters().position();
      positions[static_cast<std::size_t>(rank)].emplace_back(position.epoch, position.batch);
    }
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  for (const auto& seen : positions) CHECK(seen == std::vector<Position>{{0, 1}, {0, 2}, {1, 1}});
}

TEST_CASE("each process computes on devices of its own, to the bits of cores") {
  const auto expected = train_on(2, 2, [](int) { return data_of_50(); }).front().outcome;
  const std::vector<std::vector<Device>> devices{{test_device(0), test_device(3)}, {test_device(1), test_device(1)}};
  const std::vector<std::vector<Device>> mixed{{test_device(1), test_device(2)}, cpu_devices(2)};
  for (const auto& of_process : {devices, mixed}) {
    const auto address = new_address();
    std::vector<Outcome> outcomes(2);
    const auto ends = on_processes(2, [&](int rank) {
      const auto cluster = join_cluster(options_of(rank, 2, address));
      Runtime runtime({.workers = 1, .cpu_devices = 4});
      const MultiWorkerMirrored strategy(*cluster, of_process[static_cast<std::size_t>(rank)]);
      auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
      auto& outcome = outcomes[static_cast<std::size_t>(rank)];
      trainer.fit(data_of_50(),
                  {.epochs = 2, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
      outcome.hash = trainer.parameters().hash();
      cluster->leave();
    });
    CHECK(ends == Ends(2));
    CHECK(outcomes == std::vector{expected, expected});
  }
}

TEST_CASE("processes with more replicas than others are told") {
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(rank + 1));
  });
  for (const auto& end : ends)
    CHECK_THAT(end, Contains("[multi_worker_mirrored]") && Contains("rank 0 has 1 and rank 1 has 2"));
}

TEST_CASE("processes that do not share go through all samples each") {
  const auto results = train_on(2, 1, [](int) { return data_of_50().shard(DataSharding::off); });
  CHECK(results.front().outcome.losses.size() == 2 * 7);  // 100 samples an epoch
}

TEST_CASE("processes with different data, or that share them differently, are told the first difference") {
  Ends ends;
  train_on(
      2, 1, [](int rank) { return rank == 0 ? data_of_50() : data_of_50().scaled("features", 2.0F); }, {}, ends);
  for (const auto& end : ends) CHECK_THAT(end, Contains("field") && Contains("features") && Contains("on rank 1"));
  train_on(
      2, 1, [](int rank) { return data_of_50().shard(rank == 0 ? DataSharding::off : DataSharding::file); }, {}, ends);
  for (const auto& end : ends) CHECK_THAT(end, Contains("sharding off") && Contains("sharding file"));
}

namespace {

/// Trains on one device, whose update ops are in process 1.
class UpdatesElsewhere final : public Strategy {
 public:
  UpdatesElsewhere() : Strategy({Place{}}) {}
  Plan training_plan(const PlanRequest& request) const override {
    auto plan = OneDevice(Place{}).training_plan(request);
    for (auto& actor : plan.actors)
      for (const auto& output : actor.outputs)
        if (output.parameter) actor.place.process = 1;
    return plan;
  }
};

}  // namespace

TEST_CASE("parameters that ops in another process have updated are read in all processes after a fit") {
  const auto address = new_address();
  std::vector<std::string> hashes(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const UpdatesElsewhere strategy;
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = Grain::per_op, .cluster = cluster});
    trainer.fit(data_of_50());
    trainer.evaluate(data_of_50());
    trainer.fit(data_of_50());
    hashes[static_cast<std::size_t>(rank)] = trainer.parameters().hash();
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  auto runtime = scheduled_runtime(3, 1);
  const OneDevice alone;
  CHECK(hashes == std::vector(2, train(runtime, alone, data_of_50(), Grain::per_op).hash));
}
