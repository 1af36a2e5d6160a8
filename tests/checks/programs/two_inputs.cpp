// A regression with two inputs, trained on two replicas from the batches that an actor of the program makes.

#include <cmath>
#include <cstdio>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/step/batch_source.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

const TensorInfo kColumn{Shape{kBatch, 1}, DType::float32};

/// Masses, speeds and what to predict of them, 2 mass - 3 speed + 1, in batches of 9 to 16 rows; 100 to an epoch.
class Measurements : public PortActor {
  using PortActor::PortActor;
  void on_run(const RunInfo& run) override { batch_ = run.first_batch; }
  Next next(std::int64_t) override { return batch_ < 100 ? Next::fire : Next::end; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    const auto rows = 16 - step % 8;
    for (auto& output : outputs) output = Tensor(Shape{rows, 1}, DType::float32);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto mass = std::sin(static_cast<float>(step * 16 + row)), speed = std::cos(static_cast<float>(step + row));
      outputs[0].mutable_data<float>()[row] = 5.0F + 10.0F * mass;
      outputs[1].mutable_data<float>()[row] = 7.0F * speed;
      outputs[2].mutable_data<float>()[row] = 2.0F * mass - 3.0F * speed + 1.0F;
    }
    ++batch_;
  }
  std::int64_t batch_ = 0;
};

Outputs model(const Inputs& in) {
  auto& builder = in.builder();
  const auto mass = scale(in["mass"], 0.1), speed = scale(in["speed"], 1.0 / 7.0);
  const auto of_mass = builder.parameter("of_mass", {1, 1}, Initializer::zeros());
  const auto of_speed = builder.parameter("of_speed", {1, 1}, Initializer::zeros());
  return matmul(mass, of_mass) + matmul(speed, of_speed) + builder.parameter("bias", {1}, Initializer::zeros());
}

}  // namespace

int main() {
  const auto measurements =
      batch_source<Measurements>("measurements", {{"mass", kColumn}, {"speed", kColumn}, {"target", kColumn}}, 16);
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  Trainer trainer{runtime, strategy, model, Sgd{.lr = 0.2}, MeanSquaredError{}};
  trainer.fit(measurements, {.epochs = 4});
  const auto value = [&](const char* name) { return trainer.parameters().get(name).item<float>(); };
  // The mass was not centred: bias = 1 - 2 * 0.5.
  std::printf("%.4f mass + %.4f speed + %.4f\n", value("of_mass"), value("of_speed"), value("bias"));
  const auto error = std::abs(value("of_mass") - 2) + std::abs(value("of_speed") + 3) + std::abs(value("bias"));
  return error < 0.01F ? 0 : 1;
}
