#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

// Not inlined, because g++ 12 would otherwise take it for a call of the kernel below, and warn of missing inputs.
[[gnu::noinline]] void run_kernel(Kernel& kernel, const KernelContext& context, Inputs inputs, Outputs outputs) {
  kernel.run(context, inputs, outputs);
}

// Runs the kernels of the ops that this op replaces, which gives their bits.
class MatmulReluGrad final : public Kernel {
 public:
  explicit MatmulReluGrad(const OpCall& call)
      : product_(make_matmul(
            {&kMatmul, call.attributes, {call.inputs.begin(), call.inputs.begin() + 2}, {call.outputs[0]}})),
        gradient_(make_relu_grad({&kReluGrad, {}, {call.outputs[0], call.inputs[2]}, call.outputs})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    product_->run(context, inputs.first(2), outputs.first(1));
    const Tensor dy_and_y[] = {outputs[0], inputs[2]};
    run_kernel(*gradient_, context, dy_and_y, outputs);
  }

 private:
  std::unique_ptr<Kernel> product_, gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul_relu_grad(const OpCall& call) {
  return std::make_unique<MatmulReluGrad>(call);
}

}  // namespace troupe::cpu
