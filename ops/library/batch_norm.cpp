#include "troupe/ops/library/batch_norm.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

/// The number of channels C of input `x`. Throws Error for an input that is not float32 [B, ..., C] with B the batch
/// and at least one element in a row.
std::int64_t expect_channels(const OpInputs& inputs, std::size_t x) {
  inputs.expect_dtype(x, DType::float32);
  const auto& shape = inputs.shape(x);
  if (shape.rank() < 2 || !shape.has_batch() || shape.back(0) < 1 || shape.row_elements() == 0)
    inputs.refuse("needs a value [B, ..., C]");
  return shape.back(0);
}

std::vector<TensorInfo> infer_replica_moments(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  return {{Shape{3, expect_channels(inputs, 0)}, DType::float32}};
}

// The shape rule of batch_moments. Input: the moments of all replicas. Outputs: mean, variance, count.
std::vector<TensorInfo> infer_batch_moments(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_rank(0, 3);
  const auto& shape = inputs.shape(0);
  if (shape.has_batch() || shape[0] < 1 || shape[1] != 3 || shape[2] < 1)
    inputs.refuse("needs the moments of the replicas, [replicas, 3, C]");
  const TensorInfo per_channel{Shape{shape[2]}, DType::float32};
  return {per_channel, per_channel, {Shape{}, DType::float32}};
}

// The shape rule of batch_norm. Inputs: x, mean, variance, scale, shift, count, and optionally a residual of the shape
// of x, which is added to the result. Attributes: epsilon, of_batch, all_reduced (see BatchNormOptions), and relu: true
// if a relu is applied last.
std::vector<TensorInfo> infer_batch_norm(const OpInputs& inputs) {
  inputs.expect_count(6, 7);
  const TensorInfo per_channel{Shape{expect_channels(inputs, 0)}, DType::float32};
  for (std::size_t i = 1; i < 5; ++i) inputs.expect_info(i, per_channel, "mean, variance, scale and shift");
  inputs.expect_info(5, {Shape{}, DType::float32}, "the count");
  if (!(inputs.attributes.number("epsilon") >= 0.0)) inputs.refuse("epsilon must not be negative");
  if (inputs.size() == 7) inputs.expect_info(6, inputs[0], "the residual");
  return {inputs[0]};
}

// The shape rule of batch_norm_grad_sums. Inputs: dy, x, mean, variance. Attribute: epsilon. Output: float32 [2, C],
// for each channel the sum of dy and the sum of dy times the normalized x, over the rows of this replica.
std::vector<TensorInfo> infer_batch_norm_grad_sums(const OpInputs& inputs) {
  inputs.expect_count(4, 4);
  return {{Shape{2, expect_channels(inputs, 1)}, DType::float32}};
}

// The shape rule of batch_norm_grad. Inputs: dy, x, mean, variance, scale, count and, with the attribute of_batch, the
// output of batch_norm_grad_sums, added up over all replicas if the attribute all_reduced is true. Output: dx.
std::vector<TensorInfo> infer_batch_norm_grad(const OpInputs& inputs) {
  inputs.expect_count(6, 7);
  return {inputs[1]};
}

std::vector<Value> grad_batch_norm(const OpGradient& g) {
  auto dy = g.dys[0];
  if (g.attributes.flag("relu")) dy = g.builder.apply_one(kReluGrad, {dy, g.outputs[0]});
  const auto channels = g.inputs[1].shape();
  const auto sums = g.builder.apply_one(kBatchNormGradSums, {dy, g.inputs[0], g.inputs[1], g.inputs[2]}, g.attributes);
  std::vector<Value> inputs{dy, g.inputs[0], g.inputs[1], g.inputs[2], g.inputs[3], g.inputs[5]};
  // scale(sums, 1.0) is a copy that all_reduce overwrites. `sums` itself keeps the sums of this replica, which are the
  // gradients of shift and scale.
  if (g.attributes.flag("of_batch"))
    inputs.push_back(g.attributes.flag("all_reduced") ? all_reduce(troupe::scale(sums, 1.0)) : sums);
  const auto dx = g.builder.apply(kBatchNormGrad, inputs, g.attributes)[0];
  std::vector<Value> gradients{
      dx, Value(), Value(), view_at(sums, channels[0], channels), view_at(sums, 0, channels), Value()};
  if (g.inputs.size() == 7) gradients.push_back(dy);
  return gradients;
}

}  // namespace

const OpDef kReplicaMoments{.name = "replica_moments", .infer = infer_replica_moments};
const OpDef kBatchMoments{.name = "batch_moments", .infer = infer_batch_moments};
const OpDef kBatchNorm{.name = "batch_norm", .infer = infer_batch_norm, .gradient = grad_batch_norm};
const OpDef kBatchNormGradSums{.name = "batch_norm_grad_sums", .infer = infer_batch_norm_grad_sums};
const OpDef kBatchNormGrad{.name = "batch_norm_grad", .infer = infer_batch_norm_grad};

Value replica_moments(Value x) {
  return x.builder().apply_one(kReplicaMoments, {x});
}

BatchMoments batch_moments(Value parts) {
  const auto moments = parts.builder().apply(kBatchMoments, {parts});
  return {moments[0], moments[1], moments[2]};
}

Value batch_norm(Value x, BatchMoments moments, Value scale, Value shift, BatchNormOptions options) {
  return x.builder().apply_one(kBatchNorm, {x, moments.mean, moments.variance, scale, shift, moments.count},
                               {{"epsilon", options.epsilon},
                                {"of_batch", options.of_batch},
                                {"all_reduced", options.all_reduced},
                                {"relu", false}});
}

}  // namespace troupe
