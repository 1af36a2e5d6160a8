// checkpointed_training FOLDER STEPS: trains on two replicas from the newest checkpoint in a folder on, up to STEPS
// steps in all, with a checkpoint after every step. Prints the step at which it began, each step of which it has
// written a checkpoint, and at the end a hash of all values.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/checkpoint/checkpoint.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

/// Which of two circles a point lies on.
Dataset circles() {
  std::vector<float> points;
  std::vector<std::int32_t> labels;
  for (int row = 0; row < 300; ++row) {
    labels.push_back(row % 2);
    for (const auto part : {std::cos(row), std::sin(row)}) points.push_back(static_cast<float>((1 + row % 2) * part));
  }
  return Dataset::from_arrays({{"points", Tensor::from({300, 2}, points)}, {"labels", Tensor::from({300}, labels)}});
}

/// A hash of all parameters, buffers and states of the optimizer.
std::string hash_of_all(const ParameterStore& store) {
  Hash hash;
  for (const auto& [name, updates, value] : checkpoint_of(store).values) {
    hash.add(name);
    hash.add_bytes(value.raw(), value.bytes());
  }
  return hash.hex();
}

void print(const char* what, std::int64_t step) {
  std::printf("%s %lld\n", what, static_cast<long long>(step));
  std::fflush(stdout);
}

void train(const std::string& folder, std::int64_t steps) {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const Sequential model{Dense{64}, BatchNorm{}, relu, Dropout{0.1}, Dense{2}};
  Trainer trainer{runtime, strategy, model, Adam{}, SoftmaxCrossEntropy{}, {.seed = 7}};
  trainer.resume(folder);
  print("began at step", trainer.steps());
  FitOptions options{.epochs = steps, .max_steps = steps - trainer.steps(), .pause_every = 1};
  // The checkpoint of a step is written after its pause.
  options.on_pause = [&](const Metrics&) { print("wrote step", trainer.steps() - 1); };
  options.checkpoints = Checkpoints{.folder = folder, .every_steps = 1, .stop_on_failure = true};
  trainer.fit(circles().shuffle().batch(16), options);
  std::printf("hash %s\n", hash_of_all(trainer.parameters()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "checkpointed_training: needs a folder and a number of steps\n");
    return 2;
  }
  try {
    train(argv[1], std::atoll(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
