// A user-defined op with shape rule, gradient and CPU kernels: softsign, x / (1 + |x|), as the activation
// of a model that trains. Its gradient, dy / (1 + |x|)^2, is a user-defined op too.

#include <cmath>
#include <cstdio>

#include "troupe/ops/graph/gradient.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/nn/layers.hpp"
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

/// Computes every element of output 0 from those of the inputs.
template <class Function>
class ElementKernel : public Kernel {
 public:
  explicit ElementKernel(Function function) : function_(function) {}
  void run(const KernelContext&, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    auto y = outputs[0].mutable_data<float>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = function_(inputs, i);
  }

 private:
  Function function_;
};

template <class Function>
KernelFactory each_element(Function function) {
  return [function](const OpCall&) { return std::make_unique<ElementKernel<Function>>(function); };
}

void register_softsign() {
  register_op(kSoftsign);
  register_op(kSoftsignGrad);
  register_kernel(kSoftsign, DeviceType::cpu, each_element([](std::span<const Tensor> in, std::size_t i) {
                    const float x = in[0].data<float>()[i];
                    return x / (1.0F + std::abs(x));
                  }));
  register_kernel(kSoftsignGrad, DeviceType::cpu, each_element([](std::span<const Tensor> in, std::size_t i) {
                    const float size = 1.0F + std::abs(in[1].data<float>()[i]);
                    return in[0].data<float>()[i] / (size * size);
                  }));
}

Value softsign(Value x) {
  return x.builder().apply_one(kSoftsign, {x});
}

/// y = |x|, which no linear model finds.
Dataset absolute_values(std::int64_t rows) {
  Tensor x(Shape{rows, 1}, DType::float32), y(Shape{rows, 1}, DType::float32);
  for (std::int64_t row = 0; row < rows; ++row) {
    x.mutable_data<float>()[row] = static_cast<float>(row * 37 % rows) / static_cast<float>(rows) * 4.0F - 2.0F;
    y.mutable_data<float>()[row] = std::abs(x.data<float>()[row]);
  }
  return Dataset::from_arrays({{"x", x}, {"y", y}});
}

}  // namespace

int main() {
  register_softsign();
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const Sequential model{Dense{16, softsign}, Dense{1}};
  Trainer trainer{runtime, strategy, model, Adam{.lr = 0.02}, MeanSquaredError{}, {.seed = 1}};
  const auto data = absolute_values(256);
  const auto before = trainer.evaluate(data).loss;
  trainer.fit(data.batch(32).shuffle(256), {.epochs = 60});
  const auto after = trainer.evaluate(data).loss;
  std::printf("loss %.4f before, %.4f after\n", before, after);
  return after < 0.02 && before > 10 * after ? 0 : 1;
}
