// Saves everything that a training needs to a file in the program's own format, and resumes from it in a new trainer:
// the parameters end with the same bits as without the break, whether it is between two epochs or in the middle of one.

#include <cmath>
#include <cstdio>
#include <fstream>

#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

void save(const ParameterStore& store, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const auto at = store.position();
  file << at.step << ' ' << at.epoch << ' ' << at.batch << ' ' << at.rows << ' ' << at.batch_rows << '\n';
  for (const auto& entry : store.entries()) {
    const auto value = store.get(entry.name);
    file << entry.name << ' ' << static_cast<int>(value.dtype()) << ' ' << value.shape().rank();
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
  for (int dtype = 0; file >> name >> dtype;) {
    std::size_t rank = 0;
    file >> rank;
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
Dataset circles(std::int64_t rows) {
  const auto point = [](std::int64_t row, std::span<float> to) {
    const auto angle = static_cast<float>(row), radius = row % 2 == 0 ? 1.0F : 2.0F;
    to[0] = radius * std::cos(angle);
    to[1] = radius * std::sin(angle);
  };
  const auto label = [](std::int64_t row, std::span<std::int32_t> to) { to[0] = static_cast<std::int32_t>(row % 2); };
  return Dataset::of_rows(rows)
      .with_function<float>("points", {2}, point)
      .with_function<std::int32_t>("labels", {}, label);
}

/// Trains for some steps, from these parameters on or from new ones.
std::shared_ptr<ParameterStore> train(std::int64_t steps, std::shared_ptr<ParameterStore> from = nullptr) {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const Sequential model{Dense{16, relu}, Dense{2}};
  Trainer trainer{runtime, strategy, model, Adam{.lr = 0.01}, SoftmaxCrossEntropy{}, {.seed = 7, .parameters = from}};
  trainer.fit(circles(100).shuffle(100).batch(16), {.epochs = 100, .max_steps = steps});
  return trainer.shared_parameters();
}

}  // namespace

int main() {
  const std::string path = "circles.parameters";
  constexpr std::int64_t kStepsOfAnEpoch = 7;
  const auto expected = train(2 * kStepsOfAnEpoch)->hash();
  bool equal = true;
  for (const std::int64_t steps : {kStepsOfAnEpoch, std::int64_t{3}, kStepsOfAnEpoch + 2}) {
    save(*train(steps), path);
    const auto parameters = train(2 * kStepsOfAnEpoch - steps, load(path));
    for (int replica : {0, 1}) equal = equal && parameters->hash(replica) == expected;
    std::printf("interrupted after step %d: %s, else %s\n", static_cast<int>(steps), parameters->hash().c_str(),
                expected.c_str());
  }
  std::remove(path.c_str());
  return equal && train(kStepsOfAnEpoch)->hash() != expected ? 0 : 1;
}
