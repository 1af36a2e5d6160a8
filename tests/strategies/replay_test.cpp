// Asynchronous trainings that are recorded and done again.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/server_places.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A file of this test, gone in the end.
struct File {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("troupe-recording-" + std::to_string(getpid()));
  ~File() { std::filesystem::remove(path); }
};

ParameterServer in_one_process(const ConsistencyRule& rule, int servers) {
  std::vector<Place> workers, shards;
  for (int i = 0; i < rule.workers; ++i) workers.push_back({0, {DeviceType::cpu, i}});
  for (int i = 0; i < servers; ++i) shards.push_back({0, {DeviceType::cpu, rule.workers + i}});
  return {workers, shards, rule};
}

struct Trained {
  std::string hash;
  Staleness staleness;

  bool operator==(const Trained&) const = default;
};

Trained train_in_a_process(const ConsistencyRule& rule, int servers, std::uint64_t schedule, const FitOptions& options,
                           TrainerOptions trainer_options = {.seed = 3}) {
  auto runtime = scheduled_runtime(schedule);
  const auto strategy = in_one_process(rule, servers);
  auto trainer = small_trainer(runtime, strategy, std::move(trainer_options));
  const auto result = trainer.fit(data_of_50(), options);
  return {trainer.parameters().hash(0), result.staleness};
}

/// With as many workers as processes.
Trained train_in_several(int processes, const FitOptions& options) {
  const auto address = new_address();
  std::vector<Trained> results(static_cast<std::size_t>(processes));
  const auto ends = on_processes(processes, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, processes, address));
    Runtime runtime({.workers = 1, .cpu_devices = processes});
    const auto places = server_places(*cluster, cpu_devices(1), 2);
    const ParameterServer strategy(places.workers, places.servers, ConsistencyRule::asynchronous(processes));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    const auto result = trainer.fit(data_of_50(), options);
    if (rank == 0) results[0] = {trainer.parameters().hash(), result.staleness};
    cluster->leave();
  });
  CHECK(ends == Ends(static_cast<std::size_t>(processes)));
  return results.front();
}

}  // namespace

TEST_CASE("a recorded training, done again under another schedule and in another grain, comes to the same bits") {
  const auto rule =
      GENERATE(ConsistencyRule::asynchronous(3), ConsistencyRule::bounded(3, 1), ConsistencyRule::bounded(3, 4),
               ConsistencyRule::compensated(3, 0.04), ConsistencyRule::with_backup(3, 1));
  const int servers = GENERATE(1, 2);
  CAPTURE(rule.quorum, rule.staleness, servers);
  const File file;
  const auto seeds = schedules(24);
  std::set<std::string> hashes;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    INFO("seed " << seed);
    const auto recorded = train_in_a_process(rule, servers, seed, {.epochs = 2, .record = file.path.string()});
    hashes.insert(recorded.hash);
    for (const auto grain : {Grain::fused, Grain::per_op})
      CHECK(train_in_a_process(rule, servers, seed + 100, {.epochs = 2, .replay = file.path.string()},
                               {.seed = 3, .grain = grain}) == recorded);
  }
  // Else there was nothing to record.
  CHECK(hashes.size() > seeds / 2);
}

TEST_CASE("what one process has recorded several do again, and the other way round") {
  const auto rule = ConsistencyRule::asynchronous(3);
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    INFO("seed " << seed);
    const File file;
    const auto in_one = train_in_a_process(rule, 2, seed, {.epochs = 2, .record = file.path.string()});
    CHECK(train_in_several(3, {.epochs = 2, .replay = file.path.string()}) == in_one);
    const auto in_several = train_in_several(3, {.epochs = 2, .record = file.path.string()});
    CHECK(train_in_a_process(rule, 2, seed + 7, {.epochs = 2, .replay = file.path.string()}) == in_several);
    CHECK(train_in_several(3, {.epochs = 2, .replay = file.path.string()}) == in_several);
  }
}

TEST_CASE("a fit that a callback ends by an exception writes no recording") {
  const File file;
  std::filesystem::remove(file.path);
  FitOptions options{.epochs = 2, .record = file.path.string()};
  const bool in_epoch = GENERATE(false, true);
  if (in_epoch)
    options.on_epoch = [](const EpochMetrics&) { throw Error("test", "the disk is full"); };
  else
    options.on_step = [](const StepMetrics&) { throw Error("test", "the disk is full"); };
  CHECK_THROWS_WITH(train_in_a_process(ConsistencyRule::asynchronous(3), 1, 1, options), "[test] the disk is full");
  CHECK_FALSE(std::filesystem::exists(file.path));
}

TEST_CASE("a training that ends early is done again as far as it went") {
  const File file;
  const auto rule = ConsistencyRule::asynchronous(3);
  const auto recorded = train_in_a_process(rule, 2, 1, {.epochs = 2, .max_steps = 13, .record = file.path.string()});
  CHECK(train_in_a_process(rule, 2, 9, {.epochs = 2, .max_steps = 13, .replay = file.path.string()}) == recorded);
}

TEST_CASE("a recording is done again from equal parameters and optimizer state alone, also from values that were set") {
  const File file;
  const ParameterServer strategy(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::asynchronous(2));
  const Optimizer optimizer(Sgd{.lr = 0.05, .momentum = 0.9});
  auto runtime = scheduled_runtime(3, 2);
  const auto fit = [&](const std::shared_ptr<ParameterStore>& store, const FitOptions& options) {
    small_trainer(runtime, strategy, {.seed = 3, .parameters = store, .name = "trainer"}, optimizer)
        .fit(data_of_50(), options);
    return store->hash();
  };
  const auto recorded = std::make_shared<ParameterStore>(3);
  fit(recorded, {});
  const auto copy_without = [&](const std::string& left_out) {
    const auto copy = std::make_shared<ParameterStore>(3);
    copy->set_position(recorded->position());
    for (const auto& [name, info, trainable, copies] : recorded->entries())
      if (name != left_out) copy->set(name, recorded->get(name));
    return copy;
  };
  const auto same = copy_without(""), without_state = copy_without("dense1.bias/velocity");
  const auto other = copy_without("");
  other->set("dense1.bias", Tensor(recorded->get("dense1.bias").shape(), DType::float32));
  const auto hash = fit(recorded, {.record = file.path.string()});
  const FitOptions replay{.replay = file.path.string()};
  CHECK(fit(same, replay) == hash);
  for (const auto& store : {without_state, other})
    CHECK_THROWS_WITH(fit(store, replay), Contains("[replay] the recording begins with values "));
}

TEST_CASE("a replay may be recorded, also to the file that it replays") {
  const File file;
  const auto rule = ConsistencyRule::asynchronous(3);
  const auto path = file.path.string();
  const auto recorded = train_in_a_process(rule, 2, 1, {.epochs = 2, .record = path});
  CHECK(train_in_a_process(rule, 2, 9, {.epochs = 2, .record = path, .replay = path}) == recorded);
  CHECK(train_in_a_process(rule, 2, 17, {.epochs = 2, .replay = path}) == recorded);
}

TEST_CASE("a replay under other limits, or from another place in the data, is refused") {
  const File file;
  const auto rule = ConsistencyRule::asynchronous(3);
  const auto path = file.path.string();
  train_in_a_process(rule, 2, 1, {.epochs = 2, .max_steps = 13, .pause_every = 4, .record = path});
  for (const auto& other : {FitOptions{.epochs = 3, .max_steps = 13, .pause_every = 4, .replay = path},
                            FitOptions{.epochs = 2, .max_steps = 12, .pause_every = 4, .replay = path},
                            FitOptions{.epochs = 2, .pause_every = 4, .replay = path},
                            FitOptions{.epochs = 2, .max_steps = 13, .pause_every = 3, .replay = path}})
    CHECK_THROWS_WITH(train_in_a_process(rule, 2, 1, other),
                      Contains("for 2 epochs, at most 13 steps, pausing every 4 steps"));
  const auto elsewhere = std::make_shared<ParameterStore>(3);
  elsewhere->set_position({.step = 0, .epoch = 1, .batch = 2});
  const FitOptions same{.epochs = 2, .max_steps = 13, .pause_every = 4, .replay = path};
  CHECK_THROWS_WITH(train_in_a_process(rule, 2, 1, same, {.seed = 3, .parameters = elsewhere, .name = "trainer"}),
                    Contains("batch 2 of epoch 1"));
}

TEST_CASE("recordings that do not fit, or are damaged, are refused by reason") {
  const File file;
  const auto rule = ConsistencyRule::asynchronous(3);
  const FitOptions replay{.epochs = 1, .replay = file.path.string()};
  CHECK_THROWS_WITH(train_in_a_process(rule, 1, 1, replay), Contains("[replay] '") && Contains("does not exist"));
  train_in_a_process(rule, 1, 1, {.epochs = 1, .record = file.path.string()});
  CHECK_THROWS_WITH(train_in_a_process(rule, 2, 1, replay), Contains("[replay] the recording is of another program"));
  CHECK_THROWS_WITH(train_in_a_process(ConsistencyRule::bounded(3, 1), 1, 1, replay), Contains("of another program"));
  CHECK_THROWS_WITH(train_in_a_process(rule, 1, 1, replay, {.seed = 4}), Contains("of another program"));
  const auto other_start = std::make_shared<ParameterStore>(9);
  CHECK_THROWS_WITH(train_in_a_process(rule, 1, 1, replay, {.seed = 3, .parameters = other_start}),
                    Contains("the recording begins with start values of seed 3 at step 0, batch 0 of epoch 0, for 1 "
                             "epochs, but this training with start values of seed 9 at step 0"));
  const auto size = std::filesystem::file_size(file.path);
  std::filesystem::resize_file(file.path, size - 3);
  CHECK_THROWS_WITH(train_in_a_process(rule, 1, 1, replay), Contains("': 8 bytes are needed but 5 are left"));
  std::ofstream(file.path) << "something else entirely";
  CHECK_THROWS_WITH(train_in_a_process(rule, 1, 1, replay), Contains("this is no recording"));
}
