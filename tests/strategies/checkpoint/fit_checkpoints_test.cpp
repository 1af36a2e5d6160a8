#include "troupe/strategies/checkpoint/fit_checkpoints.hpp"

#include <unistd.h>

#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"
#include "troupe/strategies/checkpoint/checkpoint_reader.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kStepsOfFit = 20;

/// A path of a folder, which is deleted with the object.
struct FolderOfFit {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("fit-" + std::to_string(getpid()));
  FolderOfFit() { std::filesystem::remove_all(path); }
  ~FolderOfFit() { std::filesystem::remove_all(path); }
  FolderOfFit(const FolderOfFit&) = delete;
  FolderOfFit& operator=(const FolderOfFit&) = delete;
};

/// A trainer, and what it needs.
struct Training {
  Runtime runtime{RuntimeOptions{.cpu_devices = 2}};
  Mirrored mirrored{two_places()};
  ParameterServer servers{two_places(), {Place{}, Place{}}, ConsistencyRule::synchronous(2)};
  Trainer trainer;

  explicit Training(bool with_servers = false)
      : trainer(runtime, with_servers ? static_cast<const Strategy&>(servers) : mirrored,
                Sequential{Flatten{}, Dense{8}, relu, Dense{2}}, Adam{}, SoftmaxCrossEntropy{}, {.seed = 7}) {}

  /// Trains until kStepsOfFit steps are made, or fewer. An epoch has 7 steps.
  void fit(FitOptions options, std::int64_t steps = kStepsOfFit) {
    options.epochs = 100;
    options.max_steps = steps - trainer.steps();
    trainer.fit(small_dataset(100).shuffle().batch(16), options);
  }
};

FitOptions with_checkpoints(const std::string& folder, std::int64_t every_steps) {
  FitOptions options;
  options.checkpoints = Checkpoints{.folder = folder, .every_steps = every_steps, .stop_on_failure = true};
  return options;
}

}  // namespace

TEST_CASE("a fit writes a checkpoint every so many steps, and at its end") {
  const FolderOfFit folder;
  Training training;
  auto options = with_checkpoints(folder.path, 6);
  options.checkpoints->texts = {{"notes", "text"}};
  training.fit(options);
  CHECK(checkpoint_steps(folder.path) == std::vector<std::int64_t>{12, 18, 20});
  CHECK(read_checkpoint(folder.path, 18).texts.at("notes") == "text");
  options.checkpoints->keep_last = 2;
  training.fit(options, 25);
  CHECK(checkpoint_steps(folder.path) == std::vector<std::int64_t>{24, 25});
  training.fit(options, 25);
  CHECK(checkpoint_steps(folder.path) == std::vector<std::int64_t>{24, 25});
}

TEST_CASE("a fit goes on from its newest checkpoint with the bits of an uninterrupted one") {
  for (const bool with_servers : {false, true}) {
    Training whole(with_servers);
    whole.fit({});
    const auto expected = whole.trainer.parameters().hash();
    for (const std::int64_t steps : {1, 7, 13}) {
      const FolderOfFit folder;
      Training first(with_servers);
      CHECK_FALSE(first.trainer.resume(folder.path));
      first.fit(with_checkpoints(folder.path, 1), steps);
      Training second(with_servers);
      REQUIRE(second.trainer.resume(folder.path));
      CHECK(second.trainer.steps() == steps);
      second.fit(with_checkpoints(folder.path, 4));
      CHECK(second.trainer.parameters().hash() == expected);
    }
  }
}

TEST_CASE("a checkpoint has what a callback at its step has changed") {
  const FolderOfFit folder;
  Training training;
  auto options = with_checkpoints(folder.path, 5);
  const auto bias = Tensor::from<float>({2}, {4.0F, 5.0F});
  options.pause_every = 5;
  options.on_pause = [&](const Metrics&) {
    for (const auto& [name, value] : training.trainer.parameter_arrays())
      if (value.shape() == Shape{2}) training.trainer.set_parameters({{name, bias}});
  };
  training.fit(options, 10);
  for (const auto& value : read_checkpoint(folder.path, 5).values)
    if (value.value.shape() == Shape{2} && value.name.find('/') == std::string::npos)
      CHECK(value.value.data<float>()[1] == 5.0F);
}

TEST_CASE("a checkpoint that cannot be written ends the fit, or is left out") {
  for (const bool stops : {true, false}) {
    const FolderOfFit folder;
    Training training;
    auto options = with_checkpoints(folder.path, 5);
    options.checkpoints->stop_on_failure = stops;
    options.pause_every = 7;
    options.on_pause = [&](const Metrics&) { std::filesystem::remove_all(folder.path); };
    if (stops)
      CHECK_THROWS_WITH(training.fit(options), Contains("cannot be made"));
    else
      training.fit(options);
    CHECK(training.trainer.steps() == (stops ? 10 : kStepsOfFit));
  }
}

TEST_CASE("a fit does not begin if it cannot write checkpoints") {
  const FolderOfFit folder;
  Training training;
  training.fit(with_checkpoints(folder.path, 5), 10);
  Training other;
  CHECK_THROWS_WITH(other.fit(with_checkpoints(folder.path, 5)),
                    Contains("has a checkpoint of step 10, but the training is at step 0: call Trainer::resume()"));
  {
    const CheckpointWriter writer(folder.path);
    CHECK_THROWS_WITH(training.fit(with_checkpoints(folder.path, 5)), Contains("is in use"));
  }
  CHECK(training.trainer.steps() == 10);
  CHECK_THROWS_WITH(training.fit(with_checkpoints({}, 5)), Contains("needs a folder"));
  CHECK_THROWS_WITH(training.fit(with_checkpoints(folder.path, 0)), Contains("at least one step"));
  auto options = with_checkpoints(folder.path, 5);
  options.checkpoints->keep_last = 0;
  CHECK_THROWS_WITH(training.fit(options), Contains("must be kept"));
}
