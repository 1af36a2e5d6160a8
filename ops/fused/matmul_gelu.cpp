// Products fused with gelu_tanh or its gradient, for devices whose products compute it while they write the result. A
// pass (fuse_gelu_products) makes these ops, not users.

#include "troupe/ops/fused/row_product.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

void expect_no_relu(const OpInputs& inputs) {
  if (inputs.attributes.flag("relu")) inputs.refuse("the product has a relu already");
}

// Inputs: the inputs of a matmul. Attributes: the attributes of a matmul, and keeps_product. Outputs: gelu_tanh of the
// product and, with keeps_product, the product.
std::vector<TensorInfo> infer_matmul_gelu_tanh(const OpInputs& inputs) {
  expect_no_relu(inputs);
  const auto y = infer_row_product(inputs, inputs.size());
  if (inputs.attributes.flag("keeps_product")) return {y, y};
  return {y};
}

// Inputs: the two factors of a product that is the gradient of the result of a gelu_tanh, and the input of that
// gelu_tanh. Attributes: the attributes of a matmul, and sums_rows. Outputs: the gradient of the input of the gelu_tanh
// and, with sums_rows, its sum over all axes but the last, which is the gradient of a bias.
std::vector<TensorInfo> infer_matmul_gelu_tanh_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  expect_no_relu(inputs);
  const auto dx = infer_row_product(inputs, 2);
  inputs.expect_info(2, dx, "the input of the gelu");
  if (!inputs.attributes.flag("sums_rows")) return {dx};
  if (dx.dtype != DType::float32) inputs.refuse("sums_rows needs float32");
  return {dx, {Shape{dx.shape.back(0)}, DType::float32}};
}

}  // namespace

const OpDef kMatmulGeluTanh{.name = "matmul_gelu_tanh",
                            .infer = infer_matmul_gelu_tanh,
                            .multiply_adds = multiply_adds_of_row_product,
                            .half = HalfKernels::gpu};
const OpDef kMatmulGeluTanhGrad{.name = "matmul_gelu_tanh_grad",
                                .infer = infer_matmul_gelu_tanh_grad,
                                .multiply_adds = multiply_adds_of_row_product,
                                .half = HalfKernels::gpu};

}  // namespace troupe
