#include "troupe/ops/library/top_k.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

void expect_int32_indices(const OpInputs& inputs, std::int64_t size) {
  if (size >= std::int64_t{1} << 31) inputs.refuse("indices of 2^31 elements or more do not fit int32");
}

std::vector<TensorInfo> infer_argmax(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  const auto axis = axis_of(inputs);
  if (inputs.shape(0)[axis] == 0) inputs.refuse("there is no largest of 0 elements");
  expect_int32_indices(inputs, inputs.shape(0)[axis]);
  auto sizes = inputs.shape(0).list();
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  return {{Shape(sizes), DType::int32}};
}

std::vector<TensorInfo> infer_top_k(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  const auto& shape = inputs.shape(0);
  const auto k = inputs.attributes.integer("k");
  if (shape.rank() == 0 || shape.back(0) == kBatch) inputs.refuse("needs a last axis that is not the batch");
  expect_int32_indices(inputs, shape.back(0));
  if (k < 1 || k > shape.back(0)) inputs.refuse("k must be 1 to the size of the last axis, not " + std::to_string(k));
  auto sizes = shape.list();
  sizes.back() = k;
  return {{Shape(sizes), DType::float32}, {Shape(sizes), DType::int32}};
}

// The shape rule of top_k_grad. Inputs: the gradient of the k values, and the indices of the values in x. The attribute
// `size` is the size of the last axis of x. Output: the gradient of x.
std::vector<TensorInfo> infer_top_k_grad(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  auto sizes = inputs.shape(0).list();
  sizes.back() = inputs.attributes.integer("size");
  return {{Shape(sizes), DType::float32}};
}

std::vector<Value> grad_top_k(const OpGradient& g) {
  return {g.builder.apply_one(kTopKGrad, {g.dys[0], g.outputs[1]}, {{"size", g.inputs[0].shape().back(0)}})};
}

std::vector<TensorInfo> infer_cumulative_sum(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  axis_of(inputs);
  return {inputs[0]};
}

// The gradient is the cumulative sum from the other end of the axis.
std::vector<Value> grad_cumulative_sum(const OpGradient& g) {
  return {
      g.builder.apply_one(kCumulativeSum, {g.dys[0]}, g.attributes.with("from_end", !g.attributes.flag("from_end")))};
}

}  // namespace

const OpDef kArgmax{.name = "argmax", .infer = infer_argmax};
const OpDef kTopK{.name = "top_k", .infer = infer_top_k, .gradient = grad_top_k};
const OpDef kTopKGrad{.name = "top_k_grad", .infer = infer_top_k_grad};
const OpDef kCumulativeSum{.name = "cumulative_sum", .infer = infer_cumulative_sum, .gradient = grad_cumulative_sum};

Value argmax(Value x, std::int64_t axis) {
  return x.builder().apply_one(kArgmax, {x}, {{"axis", axis}});
}
TopK top_k(Value x, std::int64_t k) {
  const auto outputs = x.builder().apply(kTopK, {x}, {{"k", k}});
  return {outputs[0], outputs[1]};
}
Value cumulative_sum(Value x, std::int64_t axis) {
  return x.builder().apply_one(kCumulativeSum, {x}, {{"axis", axis}, {"from_end", false}});
}

}  // namespace troupe
