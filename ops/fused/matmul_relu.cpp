// A product fused with the gradient of a relu, for devices on which one kernel computes both. A pass
// (fuse_relu_products) makes this op, not users.

#include "troupe/ops/fused/row_product.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// Inputs: the two factors of a product that is the gradient of the result of a relu, and that result. Attributes: the
// attributes of a matmul. Output: the gradient of the input of the relu.
std::vector<TensorInfo> infer_matmul_relu_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  if (inputs.attributes.flag("relu")) inputs.refuse("the product has a relu already");
  const auto dx = infer_row_product(inputs, 2);
  if (dx.dtype != DType::float32) inputs.refuse("needs float32");
  inputs.expect_info(2, dx, "the relu's result");
  return {dx};
}

}  // namespace

const OpDef kMatmulReluGrad{
    .name = "matmul_relu_grad", .infer = infer_matmul_relu_grad, .multiply_adds = multiply_adds_of_row_product};

}  // namespace troupe
