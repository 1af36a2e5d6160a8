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
class Elementwise : public Kernel {
 public:
  using Element = float (*)(std::span<const Tensor> inputs, std::size_t i);
  explicit Elementwise(Element element) : element_(element) {}
  void run(const KernelContext&, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    auto y = outputs[0].mutable_data<float>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = element_(inputs, i);
  }

 private:
  Element element_;
};

void register_softsign() {
  const auto add = [](const OpDef& op, Elementwise::Element element) {
    register_op(op);
    register_kernel(op, DeviceType::cpu, [element](const OpCall&) { return std::make_unique<Elementwise>(element); });
  };
  add(kSoftsign, [](std::span<const Tensor> in, std::size_t i) {
    const float x = in[0].data<float>()[i];
    return x / (1.0F + std::abs(x));
  });
  add(kSoftsignGrad, [](std::span<const Tensor> in, std::size_t i) {
    const float size = 1.0F + std::abs(in[1].data<float>()[i]);
    return in[0].data<float>()[i] / (size * size);
  });
}

Value softsign(Value x) {
  return x.builder().apply_one(kSoftsign, {x});
}

float point(std::int64_t row) {
  return static_cast<float>(row * 37 % 256) / 64.0F - 2.0F;
}

}  // namespace

int main() {
  register_softsign();
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const Sequential model{Dense{16, softsign}, Dense{1}};
  Trainer trainer{runtime, strategy, model, Adam{.lr = 0.02}, MeanSquaredError{}, {.seed = 1}};
  // y = |x|, which no linear model finds.
  const auto data =
      Dataset::of_rows(256)
          .with_function<float>("x", {1}, [](std::int64_t row, std::span<float> to) { to[0] = point(row); })
          .with_function<float>("y", {1}, [](std::int64_t row, std::span<float> to) { to[0] = std::abs(point(row)); });
  const auto before = trainer.evaluate(data).loss;
  trainer.fit(data.batch(32).shuffle(256), {.epochs = 60});
  const auto after = trainer.evaluate(data).loss;
  std::printf("loss %.4f before, %.4f after\n", before, after);
  return after < 0.02 && before > 10 * after ? 0 : 1;
}
