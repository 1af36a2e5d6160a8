#include "troupe/ops/library/attention.hpp"

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// The shape rule of attention. Inputs: queries, keys, values, and optionally a mask. Attributes: heads, causal.
// Outputs: the result, and a float32 [B, heads, T] that the gradient reads: for every query of every head the logarithm
// of the sum of the exponentials of its scores.
std::vector<TensorInfo> infer_attention(const OpInputs& inputs) {
  inputs.expect_count(3, 4);
  for (std::size_t i = 0; i < 3; ++i) {
    inputs.expect_dtype(i, DType::float32);
    inputs.expect_rank(i, 3);
  }
  const auto& q = inputs.shape(0);
  const auto& k = inputs.shape(1);
  const auto& v = inputs.shape(2);
  const auto heads = inputs.attributes.integer("heads");
  if (heads < 1 || q[2] % heads != 0 || v[2] % heads != 0 || q[2] == 0)
    inputs.refuse("the last axes do not divide into " + std::to_string(heads) + " heads");
  if (q[2] != k[2]) inputs.refuse("queries and keys differ in size");
  if (q[0] != k[0] || k[0] != v[0]) inputs.refuse("queries, keys and values differ in rows");
  if (k[1] != v[1]) inputs.refuse("needs one value for each key");
  if (inputs.attributes.flag("causal") && q[1] != k[1]) inputs.refuse("causal attention needs as many queries as keys");
  if (inputs.size() == 4) {
    inputs.expect_dtype(3, DType::uint8);
    if (!(inputs.shape(3) == Shape{q[1], k[1]}) && !(inputs.shape(3) == Shape{q[0], q[1], k[1]}))
      inputs.refuse("the mask must be [T, S] or [B, T, S]");
  }
  return {{Shape{q[0], q[1], v[2]}, DType::float32}, {Shape{q[0], heads, q[1]}, DType::float32}};
}

// The shape rule of attention_grad. Inputs: dy, queries, keys, values, the two outputs of attention, and optionally the
// mask. Outputs: the gradients of queries, keys and values.
std::vector<TensorInfo> infer_attention_grad(const OpInputs& inputs) {
  inputs.expect_count(6, 7);
  return {inputs[1], inputs[2], inputs[3]};
}

std::vector<Value> grad_attention(const OpGradient& g) {
  std::vector<Value> inputs{g.dys[0], g.inputs[0], g.inputs[1], g.inputs[2], g.outputs[0], g.outputs[1]};
  if (g.inputs.size() == 4) inputs.push_back(g.inputs[3]);
  return g.builder.apply(kAttentionGrad, inputs, g.attributes);
}

std::int64_t multiply_adds_of_attention(const OpCall& call) {
  const auto& k = call.inputs[1].shape;
  return call.inputs[0].shape.elements() * k[1] + call.outputs[0].shape.elements() * k[1];
}

// attention_grad computes the scores again, which is one product. Each of the two products of the forward pass, queries
// times keys and probabilities times values, has two products in its gradient.
std::int64_t multiply_adds_of_attention_grad(const OpCall& call) {
  const auto& k = call.inputs[2].shape;
  return 3 * call.inputs[1].shape.elements() * k[1] + 2 * call.inputs[0].shape.elements() * k[1];
}

Attributes attributes_of(AttentionOptions options) {
  return {{"heads", options.heads}, {"causal", options.causal}};
}

}  // namespace

const OpDef kAttention{.name = "attention",
                       .infer = infer_attention,
                       .gradient = grad_attention,
                       .multiply_adds = multiply_adds_of_attention};
const OpDef kAttentionGrad{
    .name = "attention_grad", .infer = infer_attention_grad, .multiply_adds = multiply_adds_of_attention_grad};

Value attention(Value queries, Value keys, Value values, AttentionOptions options) {
  return queries.builder().apply_one(kAttention, {queries, keys, values}, attributes_of(options));
}
Value attention(Value queries, Value keys, Value values, Value mask, AttentionOptions options) {
  return queries.builder().apply_one(kAttention, {queries, keys, values, mask}, attributes_of(options));
}

}  // namespace troupe
