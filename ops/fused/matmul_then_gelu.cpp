#include "troupe/ops/fused/matmul_then_gelu.hpp"

#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/reduce.hpp"

namespace troupe {

namespace {

/// The kernel of matmul_gelu_tanh: runs the kernel of the product and then that of the gelu_tanh.
class MatmulThenGelu final : public Kernel {
 public:
  MatmulThenGelu(const OpCall& call, const GeluKernels& kernels)
      : product_(kernels.matmul({&kMatmul, call.attributes, call.inputs, {call.outputs[0]}})),
        gelu_(kernels.gelu_tanh({&kGeluTanh, {}, {call.outputs[0]}, {call.outputs[0]}})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    // Output 1, if there is one, gets the product. Without it the gelu_tanh overwrites the product in output 0.
    const auto product = outputs.last(1);
    product_->run(context, inputs, product);
    gelu_->run(context, product, outputs.first(1));
  }

 private:
  std::unique_ptr<Kernel> product_, gelu_;
};

/// The kernel of matmul_gelu_tanh_grad: computes the product, which is dy, overwrites it with the gradient of the
/// gelu_tanh, and sums that gradient over all axes but the last if there is an output for the sum.
class MatmulThenGeluGrad final : public Kernel {
 public:
  MatmulThenGeluGrad(const OpCall& call, const GeluKernels& kernels) {
    const auto& dx = call.outputs[0];
    product_ = kernels.matmul({&kMatmul, call.attributes, {call.inputs[0], call.inputs[1]}, {dx}});
    gradient_ = kernels.gelu_tanh_grad({&kGeluTanhGrad, {}, {dx, call.inputs[2]}, {dx}});
    if (call.outputs.size() == 2)
      sum_ = kernels.reduce_sum({&kReduceSum, {{"axes", axes_of_rows(dx.shape)}}, {dx}, {call.outputs[1]}});
  }

  std::size_t scratch_bytes() const override {
    return std::max(product_->scratch_bytes(), sum_ ? sum_->scratch_bytes() : 0);
  }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    const auto dx = outputs.first(1);
    product_->run(context, inputs.first(2), dx);
    const Tensor dy_and_x[] = {dx[0], inputs[2]};
    gradient_->run(context, dy_and_x, dx);
    if (sum_) sum_->run(context, dx, outputs.last(1));
  }

 private:
  std::unique_ptr<Kernel> product_, gradient_, sum_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul_then_gelu_tanh(const OpCall& call, const GeluKernels& kernels) {
  return std::make_unique<MatmulThenGelu>(call, kernels);
}

std::unique_ptr<Kernel> make_matmul_then_gelu_tanh_grad(const OpCall& call, const GeluKernels& kernels) {
  return std::make_unique<MatmulThenGeluGrad>(call, kernels);
}

}  // namespace troupe
