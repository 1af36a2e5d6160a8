// Replicas on devices with memory of their own in several processes, which are threads here, each with a runtime and a
// cluster of its own.

#include <cstdlib>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

// The number of emulated GPUs.
[[maybe_unused]] const bool kChosen = setenv("EMULATED_CUDA_DEVICES", "4", 0) == 0;

/// Small buckets, so that several are on their way.
MirroredOptions summing(AllReduceAlgorithm algorithm) {
  return {.first_bucket_bytes = 64, .bucket_bytes = 256, .all_reduce = algorithm};
}

/// Replicas on devices one after the other, so many a process.
std::vector<Place> places_on(DeviceType type, int processes, int replicas) {
  std::vector<Place> places;
  for (int process = 0; process < processes; ++process)
    for (int i = 0; i < replicas; ++i) places.push_back({process, {type, process * replicas + i}});
  return places;
}

/// Whether there are so many GPUs, and NCCL; else a line that says so.
bool has_gpus(int count) {
  if (!gpu(count - 1)) return false;
  if (!has_nccl()) skip("NCCL is needed");
  return has_nccl();
}

/// Trains in as many processes as the places name. Checks that all come to the same.
Outcome train_in_processes(const std::vector<Place>& places, AllReduceAlgorithm algorithm) {
  const auto processes = places.back().process + 1;
  const auto address = new_address();
  std::vector<Outcome> outcomes(static_cast<std::size_t>(processes));
  const auto ends = on_processes(processes, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, processes, address));
    Runtime runtime({.workers = 1});
    const Mirrored strategy(places, summing(algorithm));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    trainer.fit(data_of_50(),
                {.epochs = 2, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
    outcome.hash = trainer.parameters().hash();
    cluster->leave();
  });
  CHECK(ends == Ends(static_cast<std::size_t>(processes)));
  for (const auto& outcome : outcomes) CHECK(outcome == outcomes.front());
  return outcomes.front();
}

/// Trains with all processes as parts of one.
Outcome train_in_parts(const std::vector<Place>& places, AllReduceAlgorithm algorithm, Grain grain = Grain::fused) {
  Runtime runtime({.workers = 1});
  TrainerOptions options{.seed = 3, .grain = grain};
  for (int part = 1; part <= places.back().process; ++part) options.other_parts.push_back(Runtime({.workers = 1}));
  const Mirrored strategy(places, summing(algorithm));
  auto trainer = small_trainer(runtime, strategy, options);
  Outcome outcome;
  trainer.fit(data_of_50(),
              {.epochs = 2, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash();
  return outcome;
}

void check_close(const Outcome& got, const Outcome& want) {
  REQUIRE(got.losses.size() == want.losses.size());
  for (std::size_t i = 0; i < want.losses.size(); ++i)
    CHECK_THAT(got.losses[i], Catch::Matchers::WithinRel(want.losses[i], 1e-4));
}

}  // namespace

TEST_CASE("devices of several processes come to sums in a hierarchy, in processes and in parts of one") {
  register_test_devices();
  const auto places = places_on(DeviceType::test, 2, GENERATE(1, 2));
  const auto in_processes = train_in_processes(places, AllReduceAlgorithm::hierarchy);
  CHECK(in_processes == train_in_parts(places, AllReduceAlgorithm::hierarchy));
  CHECK(in_processes == train_in_parts(places, AllReduceAlgorithm::hierarchy, Grain::per_op));
  Runtime runtime({.workers = 1});
  const auto replicas = static_cast<int>(places.size());
  check_close(in_processes, train(runtime, Mirrored(cpu_devices(replicas)), data_of_50(), Grain::fused));
}

TEST_CASE("devices of several processes sum over the host in rank order, to the bits of one process") {
  register_test_devices();
  const auto places = places_on(DeviceType::test, 2, 2);
  Runtime runtime({.workers = 1});
  CHECK(train_in_processes(places, AllReduceAlgorithm::direct) ==
        train(runtime, Mirrored(cpu_devices(4), summing(AllReduceAlgorithm::direct)), data_of_50(), Grain::fused));
}

TEST_CASE("GPUs of one process train over NCCL to the same bits in every grain", "[.gpu]") {
  if (!has_gpus(2)) return;
  const auto places = places_on(DeviceType::cuda, 1, 2);
  const auto outcome = train_in_parts(places, AllReduceAlgorithm::nccl);
  CHECK(outcome == train_in_parts(places, AllReduceAlgorithm::nccl, Grain::per_op));
  CHECK(outcome == train_in_parts(places, AllReduceAlgorithm::nccl));
  check_close(outcome, train_in_parts(places, AllReduceAlgorithm::direct));
}

TEST_CASE("GPUs of several processes train over NCCL and in a hierarchy", "[.gpu]") {
  const auto [processes, replicas] = GENERATE(std::pair{2, 1}, std::pair{4, 1}, std::pair{2, 2});
  if (!has_gpus(processes * replicas)) return;
  const auto places = places_on(DeviceType::cuda, processes, replicas);
  const auto over_nccl = train_in_processes(places, AllReduceAlgorithm::nccl);
  CHECK(over_nccl == train_in_parts(places, AllReduceAlgorithm::nccl));
  check_close(over_nccl, train_in_processes(places, AllReduceAlgorithm::hierarchy));
}

TEST_CASE("when a process dies, those that sum with it over NCCL end and name it", "[.gpu]") {
  const auto algorithm = GENERATE(AllReduceAlgorithm::nccl, AllReduceAlgorithm::hierarchy);
  if (!has_gpus(2)) return;
  const auto places = places_on(DeviceType::cuda, 2, 1);
  const auto address = new_address();
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1});
    const Mirrored strategy(places, summing(algorithm));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    const auto dies = [&](const StepMetrics& step) {
      if (rank == 1 && step.step == 3) throw Error("test", "dies");
    };
    trainer.fit(data_of_50(), {.epochs = 1000, .on_step = dies});
  });
  CHECK_THAT(ends[0], Contains("dies") || Contains("process 1"));
  CHECK_THAT(ends[1], Contains("dies"));
  // Not by the limit of a collective.
  CHECK(std::chrono::steady_clock::now() - begin < DeviceGroupOptions{}.limit / 2);
}

TEST_CASE("sums over NCCL need a GPU for every rank") {
  register_test_devices();
  const auto plan_of = [](const std::vector<Place>& places) {
    const auto spec = small_spec();
    const auto data = small_dataset(8).batch(4);
    return Mirrored(places, summing(AllReduceAlgorithm::nccl)).training_plan({spec, data, 0, {}});
  };
  const Device first{DeviceType::cuda, 0}, second{DeviceType::cuda, 1};
  CHECK_THROWS_WITH(plan_of({{0, Device{}}, {0, first}}), Contains("[nccl] sums on GPUs, but rank 0 is on cpu:0"));
  CHECK_THROWS_WITH(plan_of(places_on(DeviceType::test, 2, 1)), Contains("rank 0 is on test:0"));
  CHECK_THROWS_WITH(plan_of({{0, first}, {1, first}, {1, second}, {1, first}}),
                    Contains("ranks 1 and 3 are on cuda:0 of process 1"));
}
