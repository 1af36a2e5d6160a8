// Measures the rounding errors of every convolution in a training step of ResNet-20, direct and as the library chooses
// by default: the root of the mean square of the errors, divided by that of the results, which are computed in double.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "troupe/examples/resnet.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace {

using namespace troupe;

/// The sizes of a convolution of images x to images y with weights w.
struct Convolution {
  Shape x, w, y;
  std::int64_t stride, padding;
};

/// The tensors of a convolution or of one of its gradients, by the part that they have in it.
struct Operands {
  std::vector<double> x, w, y;
};

/// Calls visit(first channel of x, first weight, first filter of y) for each pair of pixels that a weight connects.
template <class Visit>
void for_each_pair(const Convolution& c, Visit visit) {
  const auto channels = c.x[3], filters = c.y[3];
  for (std::int64_t n = 0; n < c.y[0]; ++n)
    for (std::int64_t i = 0; i < c.y[1]; ++i)
      for (std::int64_t j = 0; j < c.y[2]; ++j)
        for (std::int64_t tap = 0; tap < c.w[0] * c.w[1]; ++tap) {
          const auto row = i * c.stride - c.padding + tap / c.w[1], column = j * c.stride - c.padding + tap % c.w[1];
          if (row < 0 || row >= c.x[1] || column < 0 || column >= c.x[2]) continue;
          visit(((n * c.x[1] + row) * c.x[2] + column) * channels, tap * channels * filters,
                ((n * c.y[1] + i) * c.y[2] + j) * filters);
        }
}

/// Computes the operand that `op` computes from the others.
void compute(const OpDef& op, const Convolution& c, Operands& of) {
  const auto channels = c.x[3], filters = c.y[3];
  for_each_pair(c, [&](std::int64_t x_at, std::int64_t w_at, std::int64_t y_at) {
    auto *x = of.x.data() + x_at, *w = of.w.data() + w_at, *y = of.y.data() + y_at;
    for (std::int64_t channel = 0; channel < channels; ++channel, w += filters) {
      if (&op == &kConv2d)
        for (std::int64_t i = 0; i < filters; ++i) y[i] += x[channel] * w[i];
      else if (&op == &kConv2dGradData)
        for (std::int64_t i = 0; i < filters; ++i) x[channel] += y[i] * w[i];
      else
        for (std::int64_t i = 0; i < filters; ++i) w[i] += x[channel] * y[i];
    }
  });
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(shape, DType::float32);
  auto elements = tensor.mutable_data<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = 2.0F * uniform(seed, 0, i) - 1.0F;
  return tensor;
}

std::vector<double> to_double(const Tensor& tensor) {
  const auto elements = tensor.data<float>();
  return {elements.begin(), elements.end()};
}

Tensor run(const OpCall& call, const std::vector<Tensor>& inputs) {
  const auto kernel = make_kernel(call, Device{});
  const auto stream = backend_of(Device{}).make_stream(Device{});
  const auto scratch = backend_of(Device{}).allocate(Device{}, kernel->scratch_bytes());
  const std::vector<Tensor> outputs{Tensor(call.outputs[0].shape, DType::float32)};
  kernel->run({*stream, scratch.get()}, inputs, outputs);
  return outputs[0];
}

double error_of(const Tensor& got, const std::vector<double>& exact) {
  double errors = 0.0, squares = 0.0;
  const auto elements = got.data<float>();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    errors += std::pow(elements[i] - exact[i], 2);
    squares += std::pow(exact[i], 2);
  }
  return std::sqrt(errors / squares);
}

/// The sizes of a call of conv2d or of a gradient of it, whose first tensors are x and w, dy and w, or x and dy.
Convolution convolution_of(const OpCall& call) {
  const auto stride = call.attributes.integer("stride"), padding = call.attributes.integer("padding");
  const auto &a = call.inputs[0].shape, &b = call.inputs[1].shape, &result = call.outputs[0].shape;
  if (call.op == &kConv2d) return {a, b, result, stride, padding};
  if (call.op == &kConv2dGradData) return {result, b, a, stride, padding};
  return {a, result, b, stride, padding};
}

void print_errors(const OpCall& call, int count) {
  const auto c = convolution_of(call);
  const std::vector<Tensor> inputs{random_tensor(call.inputs[0].shape, 1), random_tensor(call.inputs[1].shape, 2)};
  const auto first = to_double(inputs[0]), second = to_double(inputs[1]);
  const std::vector<double> zeros(static_cast<std::size_t>(call.outputs[0].shape.elements()));
  Operands operands;
  operands.x = call.op == &kConv2dGradData ? zeros : first;
  operands.w = call.op == &kConv2dGradWeights ? zeros : second;
  operands.y = call.op == &kConv2d ? zeros : call.op == &kConv2dGradData ? first : second;
  compute(*call.op, c, operands);
  const auto& exact = call.op == &kConv2d ? operands.y : call.op == &kConv2dGradData ? operands.x : operands.w;
  auto direct = call;
  direct.attributes = direct.attributes.with("direct", true);
  const auto of_direct = error_of(run(direct, inputs), exact), of_default = error_of(run(call, inputs), exact);
  std::printf("| %s | %s | %s | %d | %.2e | %.2e | %.2f |\n", std::string(call.op->name).c_str(),
              to_string(c.x).c_str(), to_string(c.w).c_str(), count, of_direct, of_default, of_default / of_direct);
  std::fflush(stdout);
}

void measure(std::int64_t batch) {
  const TrainingSpec spec{examples::resnet20(), SoftmaxCrossEntropy{}, Sgd{.lr = 0.1}};
  const std::vector<Field> fields{{"images", {{kBatch, 28, 28, 1}, DType::float32}},
                                  {"labels", {{kBatch}, DType::int32}}};
  const auto graph = training_graph(spec, fields, unreduced(spec));
  std::vector<std::pair<OpCall, int>> calls;  // with the numbers of their nodes
  for (const auto& node : graph.nodes()) {
    if (!node.is(kConv2d) && !node.is(kConv2dGradData) && !node.is(kConv2dGradWeights)) continue;
    OpCall call{node.op, node.attributes, {}, {}};
    for (const auto input : node.inputs) call.inputs.push_back(graph.info(input));
    for (const auto output : node.outputs) call.outputs.push_back(graph.info(output));
    call = with_rows(std::move(call), batch);
    const auto same = std::ranges::find(calls, call, &std::pair<OpCall, int>::first);
    if (same == calls.end())
      calls.emplace_back(std::move(call), 1);
    else
      ++same->second;
  }
  std::printf("| op | images | filters | nodes | direct | default | ratio |\n|---|---|---|---|---|---|---|\n");
  for (const auto& [call, count] : calls) print_errors(call, count);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t batch = 128;
  CLI::App app("Rounding errors of the convolutions of ResNet-20", "convolution_errors");
  app.add_option("--batch", batch)->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    measure(batch);
  } catch (const std::exception& error) {
    std::cerr << "convolution_errors: " << error.what() << std::endl;
    return 1;
  }
}
