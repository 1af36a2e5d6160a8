// A regression with two inputs: a source, a transform and a sink, all actors of the program, in one plan with the ops
// of a training graph.

#include <cmath>
#include <cstdio>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/run/port_actor.hpp"
#include "troupe/actors/run/spawned_plan.hpp"
#include "troupe/ops/data/batch_info.hpp"
#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/matmul.hpp"
#include "troupe/strategies/training/training_graph.hpp"

using namespace troupe;

namespace {

constexpr std::int64_t kMostRows = 16;
const TensorInfo kColumn{Shape{kBatch, 1}, DType::float32};

/// Masses, speeds and what to predict of them, 2 mass - 3 speed + 1, in batches of 9 to 16 rows.
class Measurements : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    const auto rows = kMostRows - step % 8;
    for (int i = 0; i < 3; ++i) outputs[i] = Tensor(Shape{rows, 1}, DType::float32);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto mass = std::sin(static_cast<float>(step * 16 + row)), speed = std::cos(static_cast<float>(step + row));
      outputs[0].mutable_data<float>()[row] = 5.0F + 10.0F * mass;
      outputs[1].mutable_data<float>()[row] = 7.0F * speed;
      outputs[2].mutable_data<float>()[row] = 2.0F * mass - 3.0F * speed + 1.0F;
    }
    outputs[3] = Tensor(BatchInfo::info().shape, BatchInfo::info().dtype);
    BatchInfo{rows, rows, 0, step}.write(outputs[3]);
  }
};

class Normalizer : public PortActor {
  using PortActor::PortActor;
  static constexpr float kMeans[] = {5.0F, 0.0F}, kDeviations[] = {10.0F, 7.0F};
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    for (int i = 0; i < 2; ++i) {
      outputs[i] = inputs[i].clone();
      for (auto& value : outputs[i].mutable_data<float>()) value = (value - kMeans[i]) / kDeviations[i];
    }
  }
};

Outputs model(const Inputs& in) {
  const GraphBuilder::Scope scope(in.builder(), "regression");
  const auto weight = [&](const char* name) { return in.builder().parameter(name, {1, 1}, Initializer::zeros()); };
  const auto bias = in.builder().parameter("bias", {1}, Initializer::zeros());
  return matmul(in["mass"], weight("mass_weight")) + matmul(in["speed"], weight("speed_weight")) + bias;
}

}  // namespace

int main() {
  const TrainingSpec spec{model, MeanSquaredError{}, Sgd{.lr = 0.2}};
  const auto graph = training_graph(spec, {{"mass", kColumn}, {"speed", kColumn}, {"target", kColumn}}, unreduced);
  Plan plan;
  plan.max_rows = kMostRows;
  const auto source =
      plan.add(external<Measurements>("measurements", {.outputs = {kColumn, kColumn, kColumn, BatchInfo::info()}}));
  const auto normalizer = plan.add(external<Normalizer>("normalizer", {{kColumn, kColumn}, {kColumn, kColumn}}));
  for (int i = 0; i < 2; ++i) plan.connect(source, i, normalizer, 2);
  lower(plan, graph,
        {.inputs = {{"mass", {normalizer, 0}},
                    {"speed", {normalizer, 1}},
                    {"target", {source, 2}},
                    {names::kBatchInfo, {source, 3}}}});
  const auto store = std::make_shared<ParameterStore>();
  SpawnContext context;
  context.store = store;
  SpawnedPlan spawned(Runtime(), fuse(plan), context);
  spawned.start({.max_steps = 300});
  spawned.wait();
  const auto weight = [&](const char* name) { return store->get(name).item<float>(); };
  const float found[] = {weight("regression.mass_weight"), weight("regression.speed_weight"),
                         weight("regression.bias")};
  std::printf("%.4f mass + %.4f speed + %.4f\n", found[0], found[1], found[2]);
  const auto error = std::abs(found[0] - 2) + std::abs(found[1] + 3) + std::abs(found[2] - 1);
  return error < 0.01F ? 0 : 1;
}
