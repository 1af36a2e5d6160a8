// A user-defined op with shape rule, gradient and CPU kernels: softsign, x / (1 + |x|), as the activation
// of a model that trains. Its gradient, dy / (1 + |x|)^2, is a user-defined op too.

#include <cmath>
#include <cstdio>

#include "troupe/ops/graph/function_kernel.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

extern const OpDef kSoftsign, kSoftsignGrad;

std::vector<TensorInfo> like_input(const OpInputs& inputs) {
  inputs.expect_dtype(0, DType::float32);
  return {inputs[0]};
}

std::vector<Value> softsign_gradient(const OpGradient& g) {
  return {g.builder.apply_one(kSoftsignGrad, {g.dys[0], g.inputs[0]})};
}

const OpDef kSoftsign{.name = "softsign", .infer = like_input, .gradient = softsign_gradient};
const OpDef kSoftsignGrad{.name = "softsign_grad", .infer = like_input};

/// A kernel that computes every element of the output from those of the inputs.
template <class Element>
KernelFactory elementwise(Element element) {
  return [element](const OpCall&) {
    return function_kernel([element](std::span<const Tensor> in, std::span<const Tensor> out) {
      auto y = out[0].mutable_data<float>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = element(in, i);
    });
  };
}

void register_softsign() {
  register_op(kSoftsign);
  register_op(kSoftsignGrad);
  register_kernel(kSoftsign, DeviceType::cpu, elementwise([](std::span<const Tensor> in, std::size_t i) {
                    return in[0].data<float>()[i] / (1.0F + std::abs(in[0].data<float>()[i]));
                  }));
  register_kernel(kSoftsignGrad, DeviceType::cpu, elementwise([](std::span<const Tensor> in, std::size_t i) {
                    const float size = 1.0F + std::abs(in[1].data<float>()[i]);
                    return in[0].data<float>()[i] / (size * size);
                  }));
}

Value softsign(Value x) {
  return x.builder().apply_one(kSoftsign, {x});
}

}  // namespace

int main() {
  register_softsign();
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const Sequential model{Dense{16, softsign}, Dense{1}};
  Trainer trainer{runtime, strategy, model, Adam{.lr = 0.02}, MeanSquaredError{}, {.seed = 1}};
  // y = |x|, which no linear model finds.
  std::vector<float> x(256), y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(std::abs(x[i] = static_cast<float>(i) / 64.0F - 2.0F));
  const auto data =
      Dataset::from_arrays({{"x", Tensor::from<float>({256, 1}, x)}, {"y", Tensor::from<float>({256, 1}, y)}});
  const auto before = trainer.evaluate(data).loss;
  trainer.fit(data.batch(32).shuffle(256), {.epochs = 60});
  const auto after = trainer.evaluate(data).loss;
  std::printf("loss %.4f before, %.4f after\n", before, after);
  return after < 0.02 && before > 10 * after ? 0 : 1;
}
