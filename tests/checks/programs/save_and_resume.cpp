// Saves everything that a training needs to a file in the program's own format, and resumes from it in a new trainer:
// the parameters end with the same bits as without the break, whether it is between two epochs or in the middle of one.

#include <cmath>
#include <cstdio>
#include <fstream>

#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

void save(const ParameterStore& store, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const auto at = store.position();
  file << at.step << ' ' << at.epoch << ' ' << at.batch << ' ' << at.rows << ' ' << at.batch_rows << '\n';
  for (const auto& name : store.names()) {
    const auto value = store.get(name);
    file << name << ' ' << static_cast<int>(value.dtype()) << ' ' << value.shape().rank();
    for (auto size : value.shape().list()) file << ' ' << size;
    file << '\n';
    file.write(reinterpret_cast<const char*>(value.raw()), static_cast<std::streamsize>(value.bytes()));
  }
}

std::shared_ptr<ParameterStore> load(const std::string& path) {
  auto store = std::make_shared<ParameterStore>();
  std::ifstream file(path, std::ios::binary);
  TrainingPosition at;
  file >> at.step >> at.epoch >> at.batch >> at.rows >> at.batch_rows;
  store->set_position(at);
  std::string name;
  std::size_t rank = 0;
  for (int dtype = 0; file >> name >> dtype >> rank;) {
    std::vector<std::int64_t> sizes(rank);
    for (auto& size : sizes) file >> size;
    file.get();
    const Tensor value(Shape(sizes), static_cast<DType>(dtype));
    file.read(reinterpret_cast<char*>(value.mutable_raw()), static_cast<std::streamsize>(value.bytes()));
    store->set(name, value);
  }
  return store;
}

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
    save(*train(steps), "parameters");
    const auto resumed = train(2 * kStepsOfAnEpoch - steps, load("parameters"));
    std::printf("interrupted after step %lld: %s\n", static_cast<long long>(steps), resumed->hash().c_str());
    equal = equal && resumed->hash(0) == expected && resumed->hash(1) == expected;
  }
  std::remove("parameters");
  return equal ? 0 : 1;
}
