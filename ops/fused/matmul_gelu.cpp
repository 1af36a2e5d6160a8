// Products with a gelu, by the approximation with tanh, for devices on which a product can compute it, or its gradient,
// while it writes its result. Passes make these ops, not users.

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/row_product.hpp"

namespace troupe {

namespace {

void expect_no_relu(const OpInputs& inputs) {
  if (inputs.attributes.flag("relu")) inputs.refuse("has a relu before");
}

// Inputs and attributes: those of a matmul, and keeps_product. Outputs: gelu_tanh of its result and, if it is kept, the
// result.
std::vector<TensorInfo> infer_matmul_gelu_tanh(const OpInputs& inputs) {
  expect_no_relu(inputs);
  const auto y = infer_row_product(inputs, inputs.size());
  if (inputs.attributes.flag("keeps_product")) return {y, y};
  return {y};
}

// Inputs: those of a matmul without a bias, whose result is the gradient of what a gelu_tanh made, and what that got.
// Outputs: the gradient of the latter and, with the attribute sums_rows, its sum over all axes but the last.
std::vector<TensorInfo> infer_matmul_gelu_tanh_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  expect_no_relu(inputs);
  const auto dx = infer_row_product(inputs, 2);
  inputs.expect_info(2, dx, "what the gelu got");
  if (!inputs.attributes.flag("sums_rows")) return {dx};
  if (dx.dtype != DType::float32) inputs.refuse("sums rows of float32 only");
  return {dx, {Shape{dx.shape.back(0)}, DType::float32}};
}

}  // namespace

const OpDef kMatmulGeluTanh{
    .name = "matmul_gelu_tanh", .infer = infer_matmul_gelu_tanh, .multiply_adds = multiply_adds_of_row_product, .half = HalfKernels::gpu};
const OpDef kMatmulGeluTanhGrad{.name = "matmul_gelu_tanh_grad",
                                .infer = infer_matmul_gelu_tanh_grad,
                                .multiply_adds = multiply_adds_of_row_product, .half = HalfKernels::gpu};

}  // namespace troupe
