#include <memory>

#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/matmul.hpp"
#include "troupe/ops/cuda/narrow_product.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/matmul_then_gelu.hpp"

namespace troupe::cuda {

namespace {

GeluKernels kernels() {
  return {make_matmul, make_gelu_tanh, make_gelu_tanh_grad, make_reduce_sum};
}

/// The product with a gelu in its epilogue, or null. How exactly cuBLASLt computes that is not documented, so it may
/// where the product is rounded anyway.
std::shared_ptr<const Product> fused_product(ProductShape shape, Epilogue epilogue) {
  if (!shape.tf32 && !is_16_bit(shape.dtype)) return nullptr;
  if (NarrowProduct::suits(shape) && NarrowProduct::is_surely_faster(shape)) return nullptr;
  shape.epilogue = epilogue;
  return Product::if_supported(shape);
}

Epilogue forward_epilogue(bool has_bias, bool keeps_product) {
  if (has_bias) return keeps_product ? Epilogue::gelu_bias_kept : Epilogue::gelu_bias;
  return keeps_product ? Epilogue::gelu_kept : Epilogue::gelu;
}

}  // namespace

std::unique_ptr<Kernel> make_matmul_gelu_tanh(const OpCall& call) {
  const bool has_bias = call.inputs.size() == 3, keeps_product = call.outputs.size() == 2;
  const auto product = fused_product(shape_of_matmul(call), forward_epilogue(has_bias, keeps_product));
  if (product == nullptr) return make_matmul_then_gelu_tanh(call, kernels());
  return cuda_kernel(
      call,
      [product, has_bias, keeps_product](const Launch& where, Inputs in, Outputs out) {
        product->run(where.stream, in[0].address(), in[1].address(), has_bias ? in[2].address() : nullptr,
                     out[0].address(), where.scratch, keeps_product ? out[1].address() : nullptr);
      },
      product->workspace_bytes());
}

std::unique_ptr<Kernel> make_matmul_gelu_tanh_grad(const OpCall& call) {
  const bool sums_rows = call.outputs.size() == 2;
  const auto shape = shape_of_matmul({&kMatmul, call.attributes, {call.inputs[0], call.inputs[1]}, {call.outputs[0]}});
  const auto product = fused_product(shape, sums_rows ? Epilogue::gelu_grad_bias : Epilogue::gelu_grad);
  if (product == nullptr) return make_matmul_then_gelu_tanh_grad(call, kernels());
  return cuda_kernel(
      call,
      [product, sums_rows](const Launch& where, Inputs in, Outputs out) {
        product->run(where.stream, in[0].address(), in[1].address(), sums_rows ? out[1].address() : nullptr,
                     out[0].address(), where.scratch, in[2].address());
      },
      product->workspace_bytes());
}

}  // namespace troupe::cuda
