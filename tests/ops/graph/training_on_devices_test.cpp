#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/test_device/test_device.hpp"

namespace troupe::ops_test {

namespace {

constexpr std::int64_t kRows = 6;
const Shape kImages{kBatch, 8, 8, 2};

using Model = Value (*)(Value);

Value dense(Value x, const std::string& name, std::int64_t units) {
  auto& builder = x.builder();
  return linear(x, builder.parameter(name + ".weights", {x.shape()[1], units}, Initializer::fan_in_uniform()),
                builder.parameter(name + ".bias", {units}, Initializer::zeros()));
}

Value mlp(Value images) {
  return dense(relu(dense(flatten(images), "dense1", 16)), "dense2", 3);
}

Value cnn(Value images) {
  const auto weights = images.builder().parameter("conv.weights", {3, 3, 2, 4}, Initializer::fan_in_uniform());
  return dense(flatten(max_pool(relu(conv2d(images, weights)))), "dense", 3);
}

/// A training step whose updates are applied only if the loss is finite.
Graph training_graph(Model model, const Optimizer& optimizer) {
  GraphBuilder forward;
  const auto labels = forward.input("labels", {kBatch}, DType::int32);
  const auto info = forward.input("batch_info", {4}, DType::int64);
  const auto logits = model(forward.input("images", kImages));
  forward.output("loss", batch_mean(softmax_cross_entropy(logits, labels).loss, info));
  GraphBuilder builder(optimize_forward(std::move(forward).build()));
  std::vector<Value> parameters;
  for (auto id : builder.graph().sources(kParameter)) parameters.push_back(builder.value(id));
  const auto loss = builder.value(builder.graph().output("loss"));
  const auto finite = all_finite(loss);
  builder.output("finite", finite);
  optimizer.apply(parameters, gradients(loss, parameters), builder.value(info.id()), finite);
  return eliminate_dead_code(std::move(builder).build());
}

/// A training graph, with its parameters and states on a device.
class Training {
 public:
  Training(const Graph& graph, Device device) : program_(graph, kRows, device), device_(device) {
    for (auto id : graph.sources(kParameter)) {
      const auto& node = graph.producer(id);
      const Tensor initial(graph.info(id).shape, DType::float32);
      node.initializer.fill(initial, 5, store_.size());
      program_.bind(node.name, store_[node.name] = initial.to(device));
    }
  }

  /// Runs one step on images that depend on its number. The loss is divided by `global_rows`. Returns the flag.
  float step(std::int64_t number, std::int64_t global_rows) {
    Tensor images(kImages.with_rows(kRows), DType::float32), labels({kRows}, DType::int32);
    std::uint64_t i = 0;
    for (auto& x : images.mutable_data<float>()) x = uniform(7, static_cast<std::uint64_t>(number), i++);
    for (auto& label : labels.mutable_data<std::int32_t>()) label = static_cast<std::int32_t>(i++ % 3);
    program_.bind("images", images.to(device_));
    program_.bind("labels", labels.to(device_));
    program_.bind(
        "batch_info",
        Tensor::from<std::int64_t>({4}, std::vector<std::int64_t>{kRows, global_rows, 0, number}).to(device_));
    program_.run();
    return program_.output("finite").copy_to_host().item<float>();
  }

  float loss() const { return program_.output("loss").copy_to_host().item<float>(); }

  std::vector<Tensor> stored() const {
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : store_) tensors.push_back(tensor.to(Device{}));
    return tensors;
  }

 private:
  Program program_;
  Device device_;
  std::map<std::string, Tensor> store_;
};

}  // namespace

TEST_CASE("training on a device of memory apart keeps the CPU's bits, also over a loss that is not finite",
          "[test device]") {
  const testing::DelayedTestDevices delayed;
  for (const Model model : {mlp, cnn})
    for (const Optimizer& optimizer : {Optimizer(Sgd{.lr = 0.1, .momentum = 0.9}), Optimizer(Adam{.clip_norm = 1.0})}) {
      const auto graph = training_graph(model, optimizer);
      Training on_cpu(graph, Device{}), on_device(graph, testing::test_device());
      for (std::int64_t step = 0; step < 8; ++step) {
        const bool finite = step != 4;
        const auto before = on_cpu.stored();
        CHECK(on_cpu.step(step, finite ? kRows : 0) == (finite ? 1.0F : 0.0F));
        CHECK(on_device.step(step, finite ? kRows : 0) == (finite ? 1.0F : 0.0F));
        CHECK(std::ranges::equal(before, on_cpu.stored(), same_bits) != finite);
        CHECK(std::ranges::equal(on_device.stored(), on_cpu.stored(), same_bits));
      }
    }
}

namespace {

/// The losses of steps on one batch, which the model learns by heart.
std::vector<float> losses_of(Training& training) {
  constexpr int kSteps = 40;
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    CHECK(training.step(1, kRows) == 1.0F);
    losses.push_back(training.loss());
  }
  return losses;
}

/// True if every tensor has numbers with more bits than a 16-bit float.
bool use_all_bits(const std::vector<Tensor>& tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& tensor) {
    return tensor.dtype() == DType::float32 && std::ranges::any_of(tensor.data<float>(), [](float number) {
             return (std::bit_cast<std::uint32_t>(number) & 0xfffU) != 0;
           });
  });
}

using Optimize = Graph (*)(const Graph& graph, DType compute);

/// Checks that training in 16-bit floats keeps near the losses of float32, with parameters in float32.
void check_training_in_16_bits(Device device, Optimize optimize) {
  for (const Model model : {mlp, cnn}) {
    const auto graph = training_graph(model, Sgd{.lr = 0.1, .momentum = 0.9});
    Training in_float32(optimize(graph, DType::float32), device);
    const auto expected = losses_of(in_float32);
    CHECK(expected.back() < 0.1F * expected.front());
    for (const auto& [dtype, tolerance] : {std::pair{DType::bfloat16, 0.02F}, {DType::float16, 0.004F}}) {
      Training training(optimize(graph, dtype), device);
      const auto losses = losses_of(training);
      INFO(name_of(dtype));
      CHECK(losses != expected);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(losses[i] - expected[i]) < tolerance);
      CHECK(use_all_bits(training.stored()));
    }
  }
}

}  // namespace

TEST_CASE("training in 16 bits on a GPU keeps near the losses of float32, and its parameters are float32", "[.gpu]") {
  if (const auto device = testing::gpu()) check_training_in_16_bits(*device, optimize_for_device);
}

TEST_CASE("training in 16 bits on a CPU keeps near the losses of float32, and its parameters are float32") {
  check_training_in_16_bits(Device{}, optimize_for_host);
}

}  // namespace troupe::ops_test
