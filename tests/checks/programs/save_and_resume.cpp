// Writes a checkpoint of a training, and resumes from it in a new trainer: the parameters end with the same bits as
// without the break, whether it is between two epochs or in the middle of one.

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/checkpoint/checkpoint_reader.hpp"
#include "troupe/strategies/checkpoint/checkpoint_writer.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

/// Which of two circles a point lies on.
Dataset circles() {
  std::vector<float> points;
  std::vector<std::int32_t> labels;
  for (int row = 0; row < 100; ++row) {
    labels.push_back(row % 2);
    for (const auto part : {std::cos(row), std::sin(row)}) points.push_back(static_cast<float>((1 + row % 2) * part));
  }
  return Dataset::from_arrays({{"points", Tensor::from({100, 2}, points)}, {"labels", Tensor::from({100}, labels)}});
}

/// Trains for some steps, from these parameters on or from new ones.
std::shared_ptr<ParameterStore> train(std::int64_t steps, std::shared_ptr<ParameterStore> from = nullptr) {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const TrainerOptions options{.seed = 7, .parameters = std::move(from)};
  Trainer trainer{runtime, strategy, Sequential{Dense{8}, Dense{2}}, Adam{}, SoftmaxCrossEntropy{}, options};
  trainer.fit(circles().shuffle(100).batch(16), {.epochs = 100, .max_steps = steps});
  return trainer.shared_parameters();
}

int main() {
  constexpr std::int64_t kStepsOfAnEpoch = 7;
  const auto expected = train(2 * kStepsOfAnEpoch)->hash();
  bool equal = train(kStepsOfAnEpoch)->hash() != expected;
  for (const std::int64_t steps : {kStepsOfAnEpoch, std::int64_t{3}, kStepsOfAnEpoch + 2}) {
    CheckpointWriter("checkpoints").write(checkpoint_of(*train(steps)));
    auto store = std::make_shared<ParameterStore>();
    restore(read_checkpoint("checkpoints", steps), *store);
    const auto resumed = train(2 * kStepsOfAnEpoch - steps, std::move(store));
    std::printf("interrupted after step %lld: %s\n", static_cast<long long>(steps), resumed->hash().c_str());
    equal = equal && resumed->hash(0) == expected && resumed->hash(1) == expected;
  }
  std::filesystem::remove_all("checkpoints");
  return equal ? 0 : 1;
}
