#include "troupe/ops/softmax.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_softmax(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_dtype(0, DType::float32);
  if (inputs.shape(0).rank() == 0) inputs.refuse("a scalar has no last axis");
  if (inputs.shape(0).rank() == 1 && inputs.shape(0).has_batch()) inputs.refuse("the last axis must not be the batch");
  return {inputs[0]};
}

std::vector<TensorInfo> infer_softmax_grad(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  return {inputs[0]};
}

std::vector<Value> grad_softmax(const OpGradient& g) {
  return {g.builder.apply_one(kSoftmaxGrad, {g.dys[0], g.outputs[0]})};
}

void expect_logits(const OpInputs& inputs) {
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_rank(0, 2);
  inputs.expect_dtype(1, DType::int32);
  inputs.expect_rank(1, 1);
  if (inputs.shape(0)[0] != inputs.shape(1)[0]) inputs.refuse("needs one label per row");
  if (inputs.shape(0)[1] < 1) inputs.refuse("needs at least one class");
}

std::vector<TensorInfo> infer_cross_entropy(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  expect_logits(inputs);
  return {{Shape{inputs.shape(0)[0]}, DType::float32}, inputs[0]};
}

// Inputs: dloss [B], log probabilities, labels.
std::vector<TensorInfo> infer_cross_entropy_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  return {inputs[1]};
}

std::vector<Value> grad_cross_entropy(const OpGradient& g) {
  if (!g.dys[0].valid() || g.dys[1].valid())
    throw Error("softmax_cross_entropy", "the log probabilities cannot be differentiated");
  return {g.builder.apply_one(kSoftmaxCrossEntropyGrad, {g.dys[0], g.outputs[1], g.inputs[1]}), Value()};
}

std::vector<TensorInfo> infer_count_correct(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  expect_logits(inputs);
  return {{Shape{}, DType::int64}};
}

}  // namespace

const OpDef kSoftmax{.name = "softmax", .infer = infer_softmax, .gradient = grad_softmax};
const OpDef kSoftmaxGrad{.name = "softmax_grad", .infer = infer_softmax_grad};
const OpDef kSoftmaxCrossEntropy{
    .name = "softmax_cross_entropy", .infer = infer_cross_entropy, .gradient = grad_cross_entropy};
const OpDef kSoftmaxCrossEntropyGrad{.name = "softmax_cross_entropy_grad", .infer = infer_cross_entropy_grad};
const OpDef kCountCorrect{.name = "count_correct", .infer = infer_count_correct};

Value softmax(Value x) {
  return x.builder().apply_one(kSoftmax, {x});
}

CrossEntropy softmax_cross_entropy(Value logits, Value labels) {
  const std::vector<Value> inputs{logits, labels};
  auto outputs = logits.builder().apply(kSoftmaxCrossEntropy, inputs);
  return {outputs[0], outputs[1]};
}

Value count_correct(Value logits, Value labels) {
  return logits.builder().apply_one(kCountCorrect, {logits, labels});
}

}  // namespace troupe
