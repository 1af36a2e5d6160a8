#include <tuple>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/in_float32.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"
#include "troupe/ops/fused/matmul_then_gelu.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

// Matrices are row-major. A transposed matrix is the same memory described with other strides. The kernels in this file
// reorder no matrix, because oneDNN's products pack their factors.

/// Describes a tensor as one matrix, with a row for each position along the leading axes, or as the transpose of it.
Layout rows_of(const TensorInfo& tensor, bool transposed) {
  const auto columns = tensor.shape.back(0), rows = tensor.shape.elements() / columns;
  return transposed ? describe({columns, rows}, Dims{1, columns}, tensor.dtype)
                    : describe({rows, columns}, Dims{columns, 1}, tensor.dtype);
}

/// Describes a tensor as a batch of matrices, its last two axes, or as a batch of their transposes. All leading axes
/// become one batch axis.
Layout matrices(const TensorInfo& tensor, bool transposed) {
  const auto rows = tensor.shape.back(1), columns = tensor.shape.back(0);
  const auto count = tensor.shape.elements() / (rows * columns);
  return transposed ? describe({count, columns, rows}, Dims{rows * columns, 1, columns}, tensor.dtype)
                    : describe({count, rows, columns}, Dims{rows * columns, columns, 1}, tensor.dtype);
}

/// The factors a and b, the result y and the bias of a product, as oneDNN describes them.
struct Product {
  Layout a, b, y, bias;
};

Product describe_product(const OpCall& call) {
  const bool ta = call.attributes.flag("transpose_a"), tb = call.attributes.flag("transpose_b");
  const auto& [a, b, y] = std::tie(call.inputs[0], call.inputs[1], call.outputs[0]);
  const auto n = y.shape.back(0);
  if (b.shape.rank() == 2)
    return {rows_of(a, ta), rows_of(b, tb), rows_of(y, false), describe({1, n}, Dims{n, 1}, y.dtype)};
  return {matrices(a, ta), matrices(b, tb), matrices(y, false), describe({1, 1, n}, Dims{n, n, 1}, y.dtype)};
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
  if (!has_onednn_dtypes(call)) return in_float32(call, make_matmul);
  return primitive_kernel(call, [&] {
    auto kernel = make_product(describe_product(call), call.inputs.size() == 3);
    if (call.attributes.flag("relu")) kernel.relu_at_end(call.outputs[0].dtype);
    return kernel;
  });
}

std::unique_ptr<Kernel> make_outer_sum(const OpCall& call) {
  if (!has_onednn_dtypes(call)) return in_float32(call, make_outer_sum);
  return primitive_kernel(call, [&] {
    const auto& [a, b, y] = std::tie(call.inputs[0], call.inputs[1], call.outputs[0]);
    return make_product({rows_of(a, true), rows_of(b, false), rows_of(y, false), {}}, false);
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
