#include "troupe/ops/library/batch_norm.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

/// The number of channels C of input `x`. Throws Error for an input that is not [B, ..., C] of a float dtype, with B
/// the batch and at least one element in a row.
std::int64_t expect_channels(const OpInputs& inputs, std::size_t x) {
  inputs.expect_float(x);
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

// The shape rule of batch_norm. x, the residual and the result have one float dtype, all else is float32. Inputs: x,
// mean, variance, scale, shift, count, and optionally a residual of the shape of x, which is added to the result.
// Attributes: epsilon, of_batch, all_reduced (see BatchNormOptions), and relu: true if a relu is applied last.
std::vector<TensorInfo> infer_batch_norm(const OpInputs& inputs) {
  inputs.expect_count(6, 7);
  const TensorInfo per_channel{Shape{expect_channels(inputs, 0)}, DType::float32};
  for (std::size_t i = 1; i < 5; ++i) inputs.expect_info(i, per_channel, "mean, variance, scale and shift");
  inputs.expect_info(5, {Shape{}, DType::float32}, "the count");
  if (!(inputs.attributes.number("epsilon") >= 0.0)) inputs.refuse("epsilon must not be negative");
  if (inputs.size() == 7) inputs.expect_info(6, inputs[0], "the residual");
  return {inputs[0]};
}

// The shape rule of batch_norm_grad_sums. Inputs: dy, x, mean, variance. Attributes: epsilon and relu. Output: float32
// [2, C], for each channel the sum of dy and the sum of dy times the normalized x, over the rows of this replica. With
// relu, dy is the gradient of the result y of a relu, and the sums are those of the gradient dz before the relu. There
// are two forms of it: with scale and shift as two more inputs the kernel computes again which elements of y are above
// 0; with y as one more input there is a second output, dz.
std::vector<TensorInfo> infer_batch_norm_grad_sums(const OpInputs& inputs) {
  inputs.expect_count(4, 6);
  if (inputs.attributes.flag("relu") != (inputs.size() > 4)) inputs.refuse("needs more inputs with a relu alone");
  const TensorInfo per_channel{Shape{expect_channels(inputs, 1)}, DType::float32};
  const TensorInfo sums{Shape{2, per_channel.shape[0]}, DType::float32};
  inputs.expect_info(0, inputs[1], "dy");
  for (std::size_t i : {2, 3}) inputs.expect_info(i, per_channel, "mean and variance");
  if (inputs.size() == 5) {
    inputs.expect_info(4, inputs[1], "the relu's result");
    return {sums, inputs[1]};
  }
  for (std::size_t i = 4; i < inputs.size(); ++i) inputs.expect_info(i, per_channel, "scale and shift");
  return {sums};
}

// The shape rule of batch_norm_grad. Inputs: dy, x, mean, variance, scale, count; with the attribute of_batch the sums
// of batch_norm_grad_sums, added up over all replicas if the attribute all_reduced is true; and with the attribute relu
// the shift, by which the kernel computes again where the relu's result is above 0. Output: dx.
std::vector<TensorInfo> infer_batch_norm_grad(const OpInputs& inputs) {
  inputs.expect_count(6, 8);
  const std::size_t count = 6 + (inputs.attributes.flag("of_batch") ? 1 : 0) + (inputs.attributes.flag("relu") ? 1 : 0);
  inputs.expect_count(count, count);
  const TensorInfo per_channel{Shape{expect_channels(inputs, 1)}, DType::float32};
  inputs.expect_info(0, inputs[1], "dy");
  for (std::size_t i : {2, 3, 4}) inputs.expect_info(i, per_channel, "mean, variance and scale");
  if (inputs.attributes.flag("relu")) inputs.expect_info(count - 1, per_channel, "the shift");
  return {inputs[1]};
}

// The gradient of a relu after the norm is computed on the way: by batch_norm_grad_sums and batch_norm_grad alone, or,
// if a residual was added, whose gradient it is, as a second result of the sums.
std::vector<Value> grad_batch_norm(const OpGradient& g) {
  const auto x = g.inputs[0], mean = g.inputs[1], variance = g.inputs[2], scale = g.inputs[3], shift = g.inputs[4];
  const bool relu = g.attributes.flag("relu"), has_residual = g.inputs.size() == 7;
  std::vector<Value> of_sums{g.dys[0], x, mean, variance};
  if (relu && has_residual) of_sums.push_back(g.outputs[0]);
  if (relu && !has_residual) of_sums.insert(of_sums.end(), {scale, shift});
  const auto summed = g.builder.apply(kBatchNormGradSums, of_sums, g.attributes);
  const auto sums = summed[0], dy = relu && has_residual ? summed[1] : g.dys[0];
  std::vector<Value> inputs{dy, x, mean, variance, scale, g.inputs[5]};
  // scale(sums, 1.0) is a copy that all_reduce overwrites. `sums` itself keeps the sums of this replica, which are the
  // gradients of shift and scale.
  if (g.attributes.flag("of_batch"))
    inputs.push_back(g.attributes.flag("all_reduced") ? all_reduce(troupe::scale(sums, 1.0)) : sums);
  if (relu && !has_residual) inputs.push_back(shift);
  const auto dx = g.builder.apply(kBatchNormGrad, inputs, g.attributes.with("relu", relu && !has_residual))[0];
  const auto channels = mean.shape();
  std::vector<Value> gradients{
      dx, Value(), Value(), view_at(sums, channels[0], channels), view_at(sums, 0, channels), Value()};
  if (has_residual) gradients.push_back(dy);
  return gradients;
}

}  // namespace

const OpDef kReplicaMoments{
    .name = "replica_moments", .infer = infer_replica_moments, .half = HalfKernels::cpu, .role = HalfRole::image_norm};
const OpDef kBatchMoments{.name = "batch_moments", .infer = infer_batch_moments};
const OpDef kBatchNorm{.name = "batch_norm",
                       .infer = infer_batch_norm,
                       .gradient = grad_batch_norm,
                       .half = HalfKernels::cpu,
                       .role = HalfRole::image_norm};
const OpDef kBatchNormGradSums{.name = "batch_norm_grad_sums",
                               .infer = infer_batch_norm_grad_sums,
                               .half = HalfKernels::cpu,
                               .role = HalfRole::image_norm_gradient};
const OpDef kBatchNormGrad{.name = "batch_norm_grad",
                           .infer = infer_batch_norm_grad,
                           .half = HalfKernels::cpu,
                           .role = HalfRole::image_norm_gradient};

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
