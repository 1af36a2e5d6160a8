#include "troupe/ops/library/softmax.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_softmax(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  if (inputs.shape(0).rank() == 0) inputs.refuse("a scalar has no last axis");
  if (inputs.shape(0).rank() == 1 && inputs.shape(0).has_batch()) inputs.refuse("the last axis must not be the batch");
  return {inputs[0]};
}

void expect_logits(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32, DType::int32});
  const auto& logits = inputs.shape(0);
  if (logits.rank() < 2) inputs.refuse("needs logits [..., C]");
  if (!(Shape(logits.sizes().first(logits.rank() - 1)) == inputs.shape(1))) inputs.refuse("needs one label per row");
  if (logits.back(0) < 1) inputs.refuse("needs at least one class");
}

// The shape rule of softmax_cross_entropy. Inputs: logits, labels. Attributes: smoothing, and optionally `ignored`, a
// label. Outputs: losses, log probabilities.
std::vector<TensorInfo> infer_cross_entropy(const OpInputs& inputs) {
  expect_logits(inputs);
  const auto smoothing = inputs.attributes.number("smoothing");
  if (!(smoothing >= 0.0 && smoothing <= 1.0)) inputs.refuse("the smoothing must be in [0, 1]");
  return {{inputs.shape(1), DType::float32}, inputs[0]};
}

// The shape rule of softmax_cross_entropy_logits_grad. Inputs: dloss, logits, labels, and optionally the batch info.
// With the batch info dloss is a scalar, the gradient of the mean of the losses over the whole batch; without it dloss
// has one element per label. Attributes: those of softmax_cross_entropy. Output: the gradient of the logits.
std::vector<TensorInfo> infer_cross_entropy_logits_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 4);
  inputs.expect_dtype(1, DType::float32);
  inputs.expect_dtype(2, DType::int32);
  if (inputs.size() == 4) inputs.expect_batch_info(3);
  inputs.expect_info(0, {inputs.size() == 4 ? Shape{} : inputs.shape(2), DType::float32}, "the gradient of the loss");
  return {inputs[1]};
}

std::vector<Value> grad_cross_entropy(const OpGradient& g) {
  Value dx;
  if (g.dys[0].valid())
    dx = g.builder.apply_one(kSoftmaxCrossEntropyGrad, {g.dys[0], g.outputs[1], g.inputs[1]}, g.attributes);
  if (g.dys[1].valid()) {
    const auto from_log_probabilities = g.builder.apply_one(kLogSoftmaxGrad, {g.dys[1], g.outputs[1]});
    dx = dx.valid() ? add(dx, from_log_probabilities) : from_log_probabilities;
  }
  return {dx, Value()};
}

std::vector<TensorInfo> infer_soft_cross_entropy(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_dtype(0, DType::float32);
  const auto& logits = inputs.shape(0);
  if (!(inputs[0] == inputs[1]) || logits.rank() < 2 || logits.back(0) < 1)
    inputs.refuse("needs logits and probabilities [..., C] of one shape");
  return {{Shape(logits.sizes().first(logits.rank() - 1)), DType::float32}, inputs[0]};
}

std::vector<Value> grad_soft_cross_entropy(const OpGradient& g) {
  return {g.builder.apply_one(kSoftCrossEntropyGrad, {g.dys[0], g.outputs[1], g.inputs[1]}), Value()};
}

std::vector<TensorInfo> infer_count_correct(const OpInputs& inputs) {
  expect_logits(inputs);
  return {{Shape{}, DType::int64}};
}

Attributes with_ignored(Attributes attributes, std::optional<std::int32_t> ignored) {
  return ignored ? attributes.with("ignored", std::int64_t{*ignored}) : attributes;
}

}  // namespace

const OpDef kSoftmax{.name = "softmax", .infer = infer_softmax, .gradient = grad_from_output<kSoftmaxGrad>};
const OpDef kSoftmaxGrad{.name = "softmax_grad", .infer = infer_like<2, 0>};
const OpDef kLogSoftmax{.name = "log_softmax", .infer = infer_softmax, .gradient = grad_from_output<kLogSoftmaxGrad>};
const OpDef kLogSoftmaxGrad{.name = "log_softmax_grad", .infer = infer_like<2, 0>};
const OpDef kSoftCrossEntropy{
    .name = "soft_cross_entropy", .infer = infer_soft_cross_entropy, .gradient = grad_soft_cross_entropy};
// Inputs: the gradient of the losses, the log probabilities of the logits, the target probabilities. Output: the
// gradient of the logits.
const OpDef kSoftCrossEntropyGrad{.name = "soft_cross_entropy_grad", .infer = infer_like<3, 1>};
const OpDef kSoftmaxCrossEntropy{
    .name = "softmax_cross_entropy", .infer = infer_cross_entropy, .gradient = grad_cross_entropy};
// Inputs: the gradient of the losses, the log probabilities, the labels. Output: the gradient of the logits that passes
// through the losses.
const OpDef kSoftmaxCrossEntropyGrad{.name = "softmax_cross_entropy_grad", .infer = infer_like<3, 1>};
const OpDef kSoftmaxCrossEntropyLogitsGrad{.name = "softmax_cross_entropy_logits_grad",
                                           .infer = infer_cross_entropy_logits_grad};
const OpDef kCountCorrect{.name = "count_correct", .infer = infer_count_correct};

Value softmax(Value x) {
  return x.builder().apply_one(kSoftmax, {x});
}

Value log_softmax(Value x) {
  return x.builder().apply_one(kLogSoftmax, {x});
}

CrossEntropy softmax_cross_entropy(Value logits, Value labels, CrossEntropyOptions options) {
  const auto attributes = with_ignored({{"smoothing", options.smoothing}}, options.ignored);
  const auto outputs = logits.builder().apply(kSoftmaxCrossEntropy, {logits, labels}, attributes);
  return {outputs[0], outputs[1]};
}

Value soft_cross_entropy(Value logits, Value probabilities) {
  return logits.builder().apply_one(kSoftCrossEntropy, {logits, probabilities});
}

Value count_correct(Value logits, Value labels, std::optional<std::int32_t> ignored) {
  return logits.builder().apply_one(kCountCorrect, {logits, labels}, with_ignored({}, ignored));
}

}  // namespace troupe
