// Ops that fuse two computations. A product, in which one matrix multiplies all rows, is fused with the activation of
// its result or with the gradient of an activation: some devices can compute it while they write the product. The
// gradient of a relu is fused with the sum of that gradient over its rows, which is the gradient of the bias before the
// relu. A product is also fused with its largest magnitude. The passes fuse_relu_products, fuse_gelu_products,
// fuse_backward_epilogues and fuse_magnitudes add these ops; they have no functions for users.

#include "troupe/ops/fused/product_and_magnitude.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// The shape and dtype of a matmul of the first `count` inputs, in which one matrix multiplies all rows of input 0.
/// Throws Error if the inputs and attributes describe another product, such as one with a relu.
TensorInfo infer_row_product(const OpInputs& inputs, std::size_t count) {
  if (inputs.attributes.flag("relu")) inputs.refuse("the product has a relu already");
  const auto product = kMatmul.infer({inputs.op, inputs.infos.first(count), inputs.attributes}).at(0);
  if (inputs.shape(1).rank() != 2 || inputs.attributes.flag("transpose_a"))
    inputs.refuse("needs rows that are not transposed, times a matrix");
  return product;
}

std::int64_t multiply_adds_of_row_product(const OpCall& call) {
  return kMatmul.multiply_adds(call);
}

// The shape rule of matmul_relu_grad. Inputs: the two factors of the product that is the gradient dy of the result y of
// a relu, and y. Attributes: the attributes of a matmul. Output: the gradient of the input of the relu. All values must
// be float32.
std::vector<TensorInfo> infer_matmul_relu_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  const auto dx = infer_row_product(inputs, 2);
  if (dx.dtype != DType::float32) inputs.refuse("needs float32");
  inputs.expect_info(2, dx, "the relu's result");
  return {dx};
}

// The shape rule of matmul_gelu_tanh. Inputs: the inputs of a matmul. Attributes: the attributes of a matmul, and
// keeps_product. Outputs: gelu_tanh of the product and, with keeps_product, the product.
std::vector<TensorInfo> infer_matmul_gelu_tanh(const OpInputs& inputs) {
  const auto y = infer_row_product(inputs, inputs.size());
  if (inputs.attributes.flag("keeps_product")) return {y, y};
  return {y};
}

// The shape rule of matmul_gelu_tanh_grad. Inputs: the two factors of the product that is the gradient dy of the result
// of a gelu_tanh, and the input x of that gelu_tanh. Attributes: the attributes of a matmul, and sums_rows. Outputs:
// the gradient of x and, with sums_rows, the sum of that gradient over all axes but the last, which is the gradient of
// a bias.
std::vector<TensorInfo> infer_matmul_gelu_tanh_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  const auto dx = infer_row_product(inputs, 2);
  inputs.expect_info(2, dx, "the input of the gelu");
  if (!inputs.attributes.flag("sums_rows")) return {dx};
  if (dx.dtype != DType::float32) inputs.refuse("sums_rows needs float32");
  return {dx, {Shape{dx.shape.back(0)}, DType::float32}};
}

// The shape rule of product_and_magnitude. Inputs: the two factors of a matmul of float32 matrices or, with the
// attribute `outer`, of a float32 outer_sum. Attributes: those of the matmul, and outer. Outputs: the product, and a
// scalar that tells whether it is finite. If the magnitudes of the factors imply that no magnitude of the product is
// above 2^64, the scalar is a bound of at most 2^64; else it is the largest magnitude, as largest_magnitude computes
// it.
std::vector<TensorInfo> infer_product_and_magnitude(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32, DType::float32});
  const TensorInfo magnitude{Shape{}, DType::float32};
  if (inputs.attributes.flag("outer")) return {kOuterSum.infer(inputs).at(0), magnitude};
  if (inputs.attributes.flag("relu")) inputs.refuse("the product has a relu");
  for (std::size_t i = 0; i < 2; ++i) inputs.expect_rank(i, 2);
  return {kMatmul.infer(inputs).at(0), magnitude};
}

std::int64_t multiply_adds_of_product_and_magnitude(const OpCall& call) {
  return (call.attributes.flag("outer") ? kOuterSum : kMatmul).multiply_adds(call);
}

// The shape rule of relu_grad_bias. Inputs: dy, and the result y of a relu. Outputs: the gradient of the input of the
// relu, and the sum of that gradient over all axes but the last, in float32.
std::vector<TensorInfo> infer_relu_grad_bias(const OpInputs& inputs) {
  auto outputs = infer_like_both_inputs(inputs);
  if (inputs.shape(0).rank() < 2) inputs.refuse("needs values [..., C] of at least 2 axes");
  outputs.push_back({Shape{inputs.shape(0).back(0)}, DType::float32});
  return outputs;
}

}  // namespace

const OpDef kMatmulReluGrad{
    .name = "matmul_relu_grad", .infer = infer_matmul_relu_grad, .multiply_adds = multiply_adds_of_row_product};
const OpDef kProductAndMagnitude{.name = "product_and_magnitude",
                                 .infer = infer_product_and_magnitude,
                                 .multiply_adds = multiply_adds_of_product_and_magnitude};
const OpDef kMatmulGeluTanh{.name = "matmul_gelu_tanh",
                            .infer = infer_matmul_gelu_tanh,
                            .multiply_adds = multiply_adds_of_row_product,
                            .half = HalfKernels::gpu};
const OpDef kMatmulGeluTanhGrad{.name = "matmul_gelu_tanh_grad",
                                .infer = infer_matmul_gelu_tanh_grad,
                                .multiply_adds = multiply_adds_of_row_product,
                                .half = HalfKernels::gpu};
const OpDef kReluGradBias{
    .name = "relu_grad_bias", .infer = infer_relu_grad_bias, .role = HalfRole::activation_gradient};

std::unique_ptr<Kernel> make_product_without_magnitude(const OpCall& call, const KernelFactory& matmul,
                                                       const KernelFactory& outer_sum) {
  if (call.attributes.flag("outer")) return outer_sum({&kOuterSum, {}, call.inputs, {call.outputs[0]}});
  return matmul({&kMatmul, call.attributes, call.inputs, {call.outputs[0]}});
}

}  // namespace troupe
