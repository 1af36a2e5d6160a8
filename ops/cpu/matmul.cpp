#include <tuple>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"
#include "troupe/ops/fused/matmul_then_gelu.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

// Matrices are row-major. A transposed matrix is the same memory described with other strides. The kernels in this file
// reorder no matrix, because oneDNN's products pack their factors.

/// Describes a tensor as one matrix, with a row for each position along the leading axes, or as the transpose of it.
Layout rows_of(const Shape& shape, bool transposed) {
  const auto rows = shape.elements() / shape.back(0), columns = shape.back(0);
  return transposed ? describe({columns, rows}, Dims{1, columns}) : describe({rows, columns}, Dims{columns, 1});
}

/// Describes a tensor as a batch of matrices, its last two axes, or as a batch of their transposes. All leading axes
/// become one batch axis.
Layout matrices(const Shape& shape, bool transposed) {
  const auto rows = shape.back(1), columns = shape.back(0);
  const auto count = shape.elements() / (rows * columns);
  return transposed ? describe({count, columns, rows}, Dims{rows * columns, 1, columns})
                    : describe({count, rows, columns}, Dims{rows * columns, columns, 1});
}

/// The factors a and b, the result y and the bias of a product, as oneDNN describes them.
struct Product {
  Layout a, b, y, bias;
};

Product describe_product(const OpCall& call) {
  const bool ta = call.attributes.flag("transpose_a"), tb = call.attributes.flag("transpose_b");
  const auto n = call.outputs[0].shape.back(0);
  const auto& [a, b, y] = std::tie(call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape);
  if (b.rank() == 2) return {rows_of(a, ta), rows_of(b, tb), rows_of(y, false), describe({1, n}, Dims{n, 1})};
  return {matrices(a, ta), matrices(b, tb), matrices(y, false), describe({1, 1, n}, Dims{n, n, 1})};
}

PrimitiveKernel make_product(const Product& product, bool has_bias) {
  const auto chosen = has_bias ? choose<dnnl::matmul>(product.a, product.b, product.bias, product.y)
                               : choose<dnnl::matmul>(product.a, product.b, product.y);
  PrimitiveKernel kernel(dnnl::matmul(chosen), chosen.scratchpad_desc());
  kernel.input(0, DNNL_ARG_SRC, product.a).input(1, DNNL_ARG_WEIGHTS, product.b).output(0, DNNL_ARG_DST, product.y);
  if (has_bias) kernel.input(2, DNNL_ARG_BIAS, product.bias);
  return kernel;
}

// run_kernel() must not be inlined. If it is inlined, g++ 12 takes the virtual call for a call of
// MatmulReluGrad::run(), which reads a third input, and warns that the third input is missing.
[[gnu::noinline]] void run_kernel(Kernel& kernel, const KernelContext& context, Inputs inputs, Outputs outputs) {
  kernel.run(context, inputs, outputs);
}

// The kernel of matmul_relu_grad. It runs the kernels of matmul and relu_grad one after the other, so the result has
// the bits of these ops.
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

GeluKernels gelu_kernels() {
  return {make_matmul, make_gelu_tanh, make_gelu_tanh_grad, make_reduce_sum};
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const OpCall& call) {
  return primitive_kernel(call, [&] {
    auto kernel = make_product(describe_product(call), call.inputs.size() == 3);
    kernel.relu_at_end(call.attributes.flag("relu"));
    return kernel;
  });
}

std::unique_ptr<Kernel> make_outer_sum(const OpCall& call) {
  return primitive_kernel(call, [&] {
    return make_product({rows_of(call.inputs[0].shape, true),
                         rows_of(call.inputs[1].shape, false),
                         rows_of(call.outputs[0].shape, false),
                         {}},
                        false);
  });
}

std::unique_ptr<Kernel> make_matmul_relu_grad(const OpCall& call) {
  return std::make_unique<MatmulReluGrad>(call);
}

std::unique_ptr<Kernel> make_matmul_gelu_tanh(const OpCall& call) {
  return make_matmul_then_gelu_tanh(call, gelu_kernels());
}

std::unique_ptr<Kernel> make_matmul_gelu_tanh_grad(const OpCall& call) {
  return make_matmul_then_gelu_tanh_grad(call, gelu_kernels());
}

}  // namespace troupe::cpu
