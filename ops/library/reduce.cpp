#include "troupe/ops/library/reduce.hpp"

#include <numeric>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/broadcast.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

// The shape rule of reduce_sum, on which the rules of the other reductions are built. It removes the axes that the
// attribute `axes` lists. The result is float32 for every float dtype of the input.
std::vector<TensorInfo> infer_reduce(const OpInputs& inputs) {
  inputs.expect_floats(1);
  const auto& shape = inputs.shape(0);
  std::vector<bool> reduced(shape.rank(), false);
  for (auto axis : inputs.attributes.list("axes")) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape.rank()))
      inputs.refuse("there is no axis " + std::to_string(axis));
    if (reduced[static_cast<std::size_t>(axis)]) inputs.refuse("axis " + std::to_string(axis) + " is given twice");
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  std::vector<std::int64_t> kept;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    if (!reduced[axis]) kept.push_back(shape[axis]);
  return {{Shape(kept), DType::float32}};
}

/// Throws Error for a reduction over the batch axis, with the message `batch_error`, because parts of the batch lie on
/// other replicas. Throws Error for a reduction over an axis of size 0, too.
void expect_elements_of_row(const OpInputs& inputs, std::string_view batch_error) {
  for (auto axis : inputs.attributes.list("axes")) {
    const auto size = inputs.shape(0)[static_cast<std::size_t>(axis)];
    if (size == kBatch) inputs.refuse(batch_error);
    if (size == 0) inputs.refuse("there is nothing to reduce along an axis of size 0");
  }
}

std::vector<TensorInfo> infer_reduce_mean(const OpInputs& inputs) {
  auto result = infer_reduce(inputs);
  expect_elements_of_row(inputs, "use batch_mean for a mean over the batch");
  return result;
}

/// Repeats y, which has the shape of the result, along the reduced axes to the shape of the input.
Value stretched(const OpGradient& g, Value y) {
  auto sizes = g.inputs[0].shape().list();
  for (auto axis : g.attributes.list("axes")) sizes[static_cast<std::size_t>(axis)] = 1;
  const Shape with_ones(sizes);
  return broadcast_to(y.shape() == with_ones ? y : reshape(y, with_ones), g.inputs[0]);
}

std::vector<Value> grad_reduce_sum(const OpGradient& g) {
  return {stretched(g, g.dys[0])};
}

double elements_reduced(const OpGradient& g) {
  double count = 1.0;
  for (auto axis : g.attributes.list("axes"))
    count *= static_cast<double>(g.inputs[0].shape()[static_cast<std::size_t>(axis)]);
  return count;
}

std::vector<Value> grad_reduce_mean(const OpGradient& g) {
  return {scale(stretched(g, g.dys[0]), 1.0 / elements_reduced(g))};
}

// The shape rule of maximum, minimum and variance. It throws Error for the batch axis: each replica reduces its part of
// the batch, the results of all replicas are added up, and a sum of maxima, minima or variances is not the result for
// the whole batch.
std::vector<TensorInfo> infer_within_rows(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  auto result = infer_reduce(inputs);
  expect_elements_of_row(inputs, "cannot reduce over the batch: its parts are on other replicas");
  return result;
}

/// The gradient rule of maximum and minimum: dy is shared equally by all elements that equal the result.
std::vector<Value> grad_extreme(const OpGradient& g) {
  const auto is_extreme = cast(equal(g.inputs[0], stretched(g, g.outputs[0])), DType::float32);
  const auto count = reduce_sum(is_extreme, g.attributes.list("axes"));
  return {mul(is_extreme, stretched(g, div(g.dys[0], count)))};
}

std::vector<Value> grad_variance(const OpGradient& g) {
  const auto mean = reduce_mean(g.inputs[0], g.attributes.list("axes"));
  const auto deviation = sub(g.inputs[0], stretched(g, mean));
  return {mul(deviation, stretched(g, scale(g.dys[0], 2.0 / elements_reduced(g))))};
}

std::vector<TensorInfo> infer_broadcast_to(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_float(0);
  inputs.expect_rank(0, inputs.shape(1).rank());
  for (std::size_t axis = 0; axis < inputs.shape(1).rank(); ++axis)
    if (inputs.shape(0)[axis] != 1 && inputs.shape(0)[axis] != inputs.shape(1)[axis])
      inputs.refuse("input 0 cannot be repeated to the shape of input 1");
  return {{inputs.shape(1), inputs[0].dtype}};
}

std::vector<Value> grad_broadcast_to(const OpGradient& g) {
  return {reduce_to(g.dys[0], g.inputs[0]), Value()};
}

std::vector<TensorInfo> infer_batch_mean(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  if (!(inputs[0] == TensorInfo{Shape{kBatch}, DType::float32})) inputs.refuse("needs one float32 per row");
  inputs.expect_batch_info(1);
  return {{Shape{}, DType::float32}};
}

std::vector<Value> grad_batch_mean(const OpGradient& g) {
  return {g.builder.apply_one(kBatchMeanGrad, {g.dys[0], g.inputs[1], g.inputs[0]}), Value()};
}

std::vector<TensorInfo> infer_batch_mean_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  inputs.expect_batch_info(1);
  return {inputs[2]};
}

Value reduce(const OpDef& op, Value x, std::span<const std::int64_t> axes) {
  return x.builder().apply_one(op, {x}, {{"axes", std::vector<std::int64_t>(axes.begin(), axes.end())}});
}

}  // namespace

const OpDef kReduceSum{
    .name = "reduce_sum", .infer = infer_reduce, .gradient = grad_reduce_sum, .role = HalfRole::reads};
const OpDef kReduceMean{
    .name = "reduce_mean", .infer = infer_reduce_mean, .gradient = grad_reduce_mean, .role = HalfRole::reads};
const OpDef kReduceMax{.name = "reduce_max", .infer = infer_within_rows, .gradient = grad_extreme};
const OpDef kReduceMin{.name = "reduce_min", .infer = infer_within_rows, .gradient = grad_extreme};
const OpDef kReduceVariance{.name = "reduce_variance", .infer = infer_within_rows, .gradient = grad_variance};
const OpDef kBroadcastTo{
    .name = "broadcast_to", .infer = infer_broadcast_to, .gradient = grad_broadcast_to, .half = HalfKernels::gpu};
const OpDef kBatchMean{.name = "batch_mean", .infer = infer_batch_mean, .gradient = grad_batch_mean};
const OpDef kBatchMeanGrad{.name = "batch_mean_grad", .infer = infer_batch_mean_grad};

Value reduce_sum(Value x, std::span<const std::int64_t> axes) {
  return reduce(kReduceSum, x, axes);
}
Value reduce_mean(Value x, std::span<const std::int64_t> axes) {
  return reduce(kReduceMean, x, axes);
}
Value reduce_max(Value x, std::span<const std::int64_t> axes) {
  return reduce(kReduceMax, x, axes);
}
Value reduce_min(Value x, std::span<const std::int64_t> axes) {
  return reduce(kReduceMin, x, axes);
}
Value reduce_variance(Value x, std::span<const std::int64_t> axes) {
  return reduce(kReduceVariance, x, axes);
}
std::vector<std::int64_t> axes_of_rows(const Shape& shape) {
  std::vector<std::int64_t> axes(shape.rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}
Value broadcast_to(Value x, Value like) {
  return x.builder().apply_one(kBroadcastTo, {x, like});
}
Value batch_mean(Value x, Value batch_info) {
  return x.builder().apply_one(kBatchMean, {x, batch_info});
}

}  // namespace troupe
