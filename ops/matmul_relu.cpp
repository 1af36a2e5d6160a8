// Products with a relu in training, for devices on which a product can make the mask of the relu, and apply it to a
// gradient, while it writes its result. Passes make these ops, not users.

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/relu_mask.hpp"
#include "troupe/ops/row_product.hpp"

namespace troupe {

namespace {

TensorInfo infer_product(const OpInputs& inputs, std::size_t count, bool relu) {
  if (inputs.attributes.flag("relu") != relu) inputs.refuse(relu ? "is for products with a relu" : "has a relu before");
  const auto product = infer_row_product(inputs, count);
  if (product.dtype != DType::float32) inputs.refuse("needs float32");
  return product;
}

TensorInfo mask_of(const TensorInfo& y) {
  auto sizes = y.shape.list();
  sizes.back() = relu_mask_bytes(sizes.back());
  return {Shape(sizes), DType::uint8};
}

// Inputs and attributes: those of a matmul with a relu. Outputs: its result, and a bit for each element that tells
// whether the relu let it pass.
std::vector<TensorInfo> infer_matmul_relu_mask(const OpInputs& inputs) {
  const auto y = infer_product(inputs, inputs.size(), true);
  return {y, mask_of(y)};
}

// Inputs: those of a matmul without a bias, whose result is the gradient of what a relu made, the relu's result and its
// mask, which tell the same. Outputs: the gradient of what the relu got, and its sum over all axes but the last.
std::vector<TensorInfo> infer_matmul_relu_grad_bias(const OpInputs& inputs) {
  inputs.expect_count(4, 4);
  const auto dx = infer_product(inputs, 2, false);
  inputs.expect_info(2, dx, "the relu's result");
  inputs.expect_info(3, mask_of(dx), "the mask");
  return {dx, {Shape{dx.shape.back(0)}, DType::float32}};
}

}  // namespace

const OpDef kMatmulReluMask{
    .name = "matmul_relu_mask", .infer = infer_matmul_relu_mask, .multiply_adds = multiply_adds_of_row_product};
const OpDef kMatmulReluGradBias{.name = "matmul_relu_grad_bias",
                                .infer = infer_matmul_relu_grad_bias,
                                .multiply_adds = multiply_adds_of_row_product};

}  // namespace troupe
