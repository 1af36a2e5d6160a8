// A product in training, and what a relu makes of it as a gradient, for devices on which one kernel may do both. A pass
// makes this op, not users.

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/row_product.hpp"

namespace troupe {

namespace {

// Inputs: those of a matmul without a bias, whose result is the gradient of what a relu made, and the relu's result.
// Output: the gradient of what the relu got.
std::vector<TensorInfo> infer_matmul_relu_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  if (inputs.attributes.flag("relu")) inputs.refuse("has a relu before");
  const auto dx = infer_row_product(inputs, 2);
  if (dx.dtype != DType::float32) inputs.refuse("needs float32");
  inputs.expect_info(2, dx, "the relu's result");
  return {dx};
}

}  // namespace

const OpDef kMatmulReluGrad{
    .name = "matmul_relu_grad", .infer = infer_matmul_relu_grad, .multiply_adds = multiply_adds_of_row_product};

}  // namespace troupe
