#include <algorithm>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

void write_mask(const Tensor& y, const Tensor& mask) {
  const auto columns = y.shape().back(0), bytes_of_row = mask.shape().back(0);
  auto* bytes = reinterpret_cast<std::uint8_t*>(mask.address());
  std::fill_n(bytes, mask.elements(), std::uint8_t{0});
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const auto row = i / columns, column = i % columns;
    const int passes = floats(y)[i] > 0.0F ? 1 : 0;
    bytes[row * bytes_of_row + column / 8] |= static_cast<std::uint8_t>(passes << column % 8);
  }
}

class MatmulReluMask final : public Kernel {
 public:
  explicit MatmulReluMask(const OpCall& call)
      : product_(make_matmul({&kMatmul, call.attributes, call.inputs, {call.outputs[0]}})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    product_->run(context, inputs, outputs.first(1));
    write_mask(outputs[0], outputs[1]);
  }

 private:
  std::unique_ptr<Kernel> product_;
};

// As the ops that this one stands for: the same bits.
class MatmulReluGradBias final : public Kernel {
 public:
  explicit MatmulReluGradBias(const OpCall& call)
      : product_(make_matmul(
            {&kMatmul, call.attributes, {call.inputs.begin(), call.inputs.begin() + 2}, {call.outputs[0]}})),
        gradient_(make_relu_grad_bias({&kReluGradBias, {}, {call.outputs[0], call.inputs[2]}, call.outputs})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    product_->run(context, inputs.first(2), outputs.first(1));
    const Tensor dy_and_y[] = {outputs[0], inputs[2]};
    gradient_->run(context, dy_and_y, outputs);
  }

 private:
  std::unique_ptr<Kernel> product_, gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul_relu_mask(const OpCall& call) {
  return std::make_unique<MatmulReluMask>(call);
}

std::unique_ptr<Kernel> make_matmul_relu_grad_bias(const OpCall& call) {
  return std::make_unique<MatmulReluGradBias>(call);
}

}  // namespace troupe::cpu
