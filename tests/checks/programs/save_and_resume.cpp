// Writes a checkpoint of a training, and resumes from it in a new trainer: the parameters end with the same bits as
// without the break, whether it is between two epochs or in the middle of one.

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "troupe/ops/nn/layers.hpp"
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

/// Trains up to a number of steps, from the newest checkpoint in a folder on, and writes one at the end.
std::string train(std::int64_t steps, const std::string& folder) {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  Trainer trainer{runtime, strategy, Sequential{Dense{8}, Dense{2}}, Adam{}, SoftmaxCrossEntropy{}, {.seed = 7}};
  trainer.resume(folder);
  FitOptions options{.epochs = 100, .max_steps = steps - trainer.steps()};
  options.checkpoints = Checkpoints{.folder = folder};
  trainer.fit(circles().shuffle().batch(16), options);
  return trainer.parameters().hash();
}

int main() {
  constexpr std::int64_t kStepsOfAnEpoch = 7;
  std::filesystem::remove_all("checkpoints");
  const auto expected = train(2 * kStepsOfAnEpoch, "checkpoints/whole");
  bool equal = train(kStepsOfAnEpoch, "checkpoints/half") != expected;
  for (const std::int64_t steps : {kStepsOfAnEpoch, std::int64_t{3}, kStepsOfAnEpoch + 2}) {
    const auto folder = "checkpoints/" + std::to_string(steps);
    train(steps, folder);
    const auto resumed = train(2 * kStepsOfAnEpoch, folder);
    std::printf("interrupted after step %lld: %s\n", static_cast<long long>(steps), resumed.c_str());
    equal = equal && resumed == expected;
  }
  std::filesystem::remove_all("checkpoints");
  return equal ? 0 : 1;
}
