#include "troupe/ops/library/conv2d.hpp"

#include <algorithm>

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/extent.hpp"

namespace troupe {

namespace {

/// The height or width of the result, for images of height or width `size`. Throws Error if the kernel is empty or
/// larger than the padded image.
std::int64_t output_size(const OpInputs& inputs, std::int64_t size, std::int64_t kernel_size) {
  const auto padded = size + 2 * inputs.attributes.integer("padding");
  if (kernel_size < 1 || padded < kernel_size) inputs.refuse("the kernel is larger than the padded image");
  return (padded - kernel_size) / inputs.attributes.integer("stride") + 1;
}

// The shape rule of conv2d. Inputs: x, weights and optionally a bias. Attributes: stride, padding, groups, relu:
// true if a relu is applied last, and, if the convolution must be computed directly, direct.
std::vector<TensorInfo> infer_conv2d(const OpInputs& inputs) {
  inputs.expect_count(2, 3);
  if (inputs.attributes.integer("stride") < 1) inputs.refuse("the stride must be at least 1");
  if (inputs.attributes.integer("padding") < 0) inputs.refuse("the padding must not be negative");
  if (inputs.attributes.integer("stride") > kMaxExtent || inputs.attributes.integer("padding") > kMaxExtent)
    inputs.refuse("stride and padding must be at most " + std::to_string(kMaxExtent));
  const auto dtype = inputs[0].dtype;
  inputs.expect_float(0);
  inputs.expect_dtype(1, dtype);
  for (std::size_t i = 0; i < 2; ++i) inputs.expect_rank(i, 4);
  const auto& x = inputs.shape(0);
  const auto& w = inputs.shape(1);
  const auto groups = inputs.attributes.integer("groups");
  if (groups < 1 || x[3] % groups != 0 || w[3] % groups != 0)
    inputs.refuse("the channels do not divide into " + std::to_string(groups) + " groups");
  if (x[3] / groups != w[2]) inputs.refuse("images and weights differ in channels per group");
  if (w.has_batch()) inputs.refuse("the weights cannot derive from the batch");
  if (w.elements() == 0) inputs.refuse("the weights are empty");
  if (inputs.size() == 3) inputs.expect_info(2, {Shape{w[3]}, dtype}, "the bias");
  return {{Shape{x[0], output_size(inputs, x[1], w[0]), output_size(inputs, x[2], w[1]), w[3]}, dtype}};
}

// The shape rule of conv2d_grad_data. Inputs: dy, weights. The attribute `shape` is the shape of x. Output: the
// gradient of x.
std::vector<TensorInfo> infer_grad_data(const OpInputs& inputs) {
  inputs.expect_floats(2);
  return {{Shape(inputs.attributes.list("shape")), inputs[0].dtype}};
}

// The shape rule of conv2d_grad_weights. Inputs: x, dy. The attribute `shape` is the shape of the weights. Outputs: the
// gradient of the weights and, with the attribute `bias`, the gradient of the bias. Both are sums over the batch,
// float32 also for 16-bit inputs.
std::vector<TensorInfo> infer_grad_weights(const OpInputs& inputs) {
  inputs.expect_floats(2);
  const Shape weights(inputs.attributes.list("shape"));
  std::vector<TensorInfo> outputs{{weights, DType::float32}};
  if (inputs.attributes.flag("bias")) outputs.push_back({Shape{weights[3]}, DType::float32});
  return outputs;
}

std::vector<Value> grad_conv2d(const OpGradient& g) {
  const bool has_bias = g.inputs.size() == 3;
  auto dy = g.dys[0];
  if (g.attributes.flag("relu")) dy = g.builder.apply_one(kReluGrad, {dy, g.outputs[0]});
  Attributes geometry{{"stride", g.attributes.integer("stride")},
                      {"padding", g.attributes.integer("padding")},
                      {"groups", g.attributes.integer("groups")}};
  if (g.attributes.has("direct")) geometry = geometry.with("direct", true);
  auto dx = g.builder.apply_one(kConv2dGradData, {dy, g.inputs[1]}, geometry.with("shape", g.inputs[0].shape().list()));
  auto dweights = g.builder.apply(kConv2dGradWeights, {g.inputs[0], dy},
                                  geometry.with("shape", g.inputs[1].shape().list()).with("bias", has_bias));
  std::vector<Value> gradients{dx};
  gradients.insert(gradients.end(), dweights.begin(), dweights.end());
  return gradients;
}

Attributes attributes_of(Conv2dOptions options) {
  const Attributes attributes{
      {"stride", options.stride}, {"padding", options.padding}, {"groups", options.groups}, {"relu", false}};
  return options.direct ? attributes.with("direct", true) : attributes;
}

/// The multiply-adds of a convolution: one for every element of y and every weight of the channel of the element. y may
/// be the result or its gradient.
std::int64_t multiply_adds_of(const TensorInfo& y, const TensorInfo& weights) {
  return y.shape.elements() * (weights.shape.elements() / std::max<std::int64_t>(1, weights.shape[3]));
}

}  // namespace

const OpDef kConv2d{
    .name = "conv2d",
    .infer = infer_conv2d,
    .gradient = grad_conv2d,
    .multiply_adds = [](const OpCall& call) { return multiply_adds_of(call.outputs[0], call.inputs[1]); },
    .half = HalfKernels::all,
    .role = HalfRole::product};
const OpDef kConv2dGradData{
    .name = "conv2d_grad_data",
    .infer = infer_grad_data,
    .multiply_adds = [](const OpCall& call) { return multiply_adds_of(call.inputs[0], call.inputs[1]); },
    .half = HalfKernels::all,
    .role = HalfRole::product};
const OpDef kConv2dGradWeights{
    .name = "conv2d_grad_weights",
    .infer = infer_grad_weights,
    .multiply_adds = [](const OpCall& call) { return multiply_adds_of(call.inputs[1], call.outputs[0]); },
    .half = HalfKernels::all,
    .role = HalfRole::product};

Value conv2d(Value x, Value weights, Conv2dOptions options) {
  return x.builder().apply_one(kConv2d, {x, weights}, attributes_of(options));
}

Value conv2d(Value x, Value weights, Value bias, Conv2dOptions options) {
  return x.builder().apply_one(kConv2d, {x, weights, bias}, attributes_of(options));
}

}  // namespace troupe
