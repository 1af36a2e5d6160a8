#include "troupe/ops/library/norm.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// The shape rule of layer_norm and rms_norm, which have `count` inputs: x [..., C], scale [C], and for layer_norm shift
// [C]. Attribute: epsilon. Outputs: y, and for the gradient the statistics of every row: the mean and 1 / sqrt(variance
// + epsilon) in layer_norm, 1 / sqrt(mean of x squared + epsilon) in rms_norm.
template <std::size_t count>
std::vector<TensorInfo> infer_norm(const OpInputs& inputs) {
  inputs.expect_count(count, count);
  inputs.expect_dtype(0, DType::float32);
  const auto& x = inputs.shape(0);
  if (x.rank() < 1 || x.back(0) == kBatch || x.back(0) < 1) inputs.refuse("needs a last axis that is not the batch");
  for (std::size_t i = 1; i < count; ++i)
    inputs.expect_info(i, {Shape{x.back(0)}, DType::float32}, i == 1 ? "the scale" : "the shift");
  if (!(inputs.attributes.number("epsilon") >= 0.0)) inputs.refuse("epsilon must not be negative");
  const TensorInfo per_row{Shape(x.sizes().first(x.rank() - 1)), DType::float32};
  std::vector<TensorInfo> outputs{inputs[0], per_row};
  if (count == 3) outputs.push_back(per_row);
  return outputs;
}

std::vector<Value> grad_norm(const OpGradient& g) {
  std::vector<Value> inputs{g.dys[0], g.inputs[0], g.inputs[1]};
  inputs.insert(inputs.end(), g.outputs.begin() + 1, g.outputs.end());
  return g.builder.apply(g.inputs.size() == 3 ? kLayerNormGrad : kRmsNormGrad, inputs);
}

}  // namespace

const OpDef kLayerNorm{.name = "layer_norm", .infer = infer_norm<3>, .gradient = grad_norm};
const OpDef kRmsNorm{.name = "rms_norm", .infer = infer_norm<2>, .gradient = grad_norm};
// Inputs: dy, x, scale, and the statistics of the rows. Outputs: the gradients of the inputs of the norm.
const OpDef kLayerNormGrad{.name = "layer_norm_grad", .infer = infer_like<5, 1, 2, 2>};
const OpDef kRmsNormGrad{.name = "rms_norm_grad", .infer = infer_like<4, 1, 2>};

Value layer_norm(Value x, Value scale, Value shift, double epsilon) {
  return x.builder().apply_one(kLayerNorm, {x, scale, shift}, {{"epsilon", epsilon}});
}
Value rms_norm(Value x, Value scale, double epsilon) {
  return x.builder().apply_one(kRmsNorm, {x, scale}, {{"epsilon", epsilon}});
}

}  // namespace troupe
