#include <memory>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/product/matmul.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

namespace {

OpCall product_of(const OpCall& call) {
  return {&kMatmul, call.attributes, {call.inputs.begin(), call.inputs.begin() + 2}, call.outputs};
}

/// The gradient of a ReLU whose dy is a matrix product: the product first, then the gradient in place.
class MatmulThenReluGrad final : public Kernel {
 public:
  explicit MatmulThenReluGrad(const OpCall& call)
      : product_(make_matmul(product_of(call))),
        gradient_(make_relu_grad({&kReluGrad, {}, {call.outputs[0], call.inputs[2]}, call.outputs})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs in, Outputs out) override {
    product_->run(context, in.first(2), out);
    // In place, because every element is read by the thread that then writes it.
    const Tensor dy_and_y[] = {out[0], in[2]};
    gradient_->run(context, dy_and_y, out);
  }

 private:
  std::unique_ptr<Kernel> product_, gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul_relu_grad(const OpCall& call) {
  if (auto kernel = own_product_kernel(call, shape_of_matmul(product_of(call)))) return kernel;
  return std::make_unique<MatmulThenReluGrad>(call);
}

}  // namespace troupe::cuda
