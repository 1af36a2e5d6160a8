#include "troupe/ops/library/math.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace troupe {

namespace {

std::vector<Value> grad_exp(const OpGradient& g) {
  return {mul(g.dys[0], g.outputs[0])};
}
std::vector<Value> grad_log(const OpGradient& g) {
  return {div(g.dys[0], g.inputs[0])};
}
std::vector<Value> grad_sqrt(const OpGradient& g) {
  return {scale(div(g.dys[0], g.outputs[0]), 0.5)};
}
std::vector<Value> grad_rsqrt(const OpGradient& g) {
  return {scale(div(mul(g.dys[0], g.outputs[0]), g.inputs[0]), -0.5)};
}
std::vector<Value> grad_pow(const OpGradient& g) {
  const auto exponent = g.attributes.number("exponent");
  if (exponent == 0.0) return {Value()};
  if (exponent == 1.0) return {g.dys[0]};
  return {scale(mul(g.dys[0], pow(g.inputs[0], exponent - 1.0)), exponent)};
}

std::vector<TensorInfo> infer_clip(const OpInputs& inputs) {
  if (!(inputs.attributes.number("least") <= inputs.attributes.number("most")))
    inputs.refuse("the lower limit is above the upper one");
  return infer_like_input(inputs);
}

}  // namespace

const OpDef kExp{.name = "exp", .infer = infer_like_input, .gradient = grad_exp, .half = HalfKernels::gpu};
const OpDef kLog{.name = "log", .infer = infer_like_input, .gradient = grad_log, .half = HalfKernels::gpu};
const OpDef kSqrt{.name = "sqrt", .infer = infer_like_input, .gradient = grad_sqrt, .half = HalfKernels::gpu};
const OpDef kRsqrt{.name = "rsqrt", .infer = infer_like_input, .gradient = grad_rsqrt, .half = HalfKernels::gpu};
const OpDef kAbs{
    .name = "abs", .infer = infer_like_input, .gradient = grad_from_input<kAbsGrad>, .role = HalfRole::follows};
const OpDef kAbsGrad{.name = "abs_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};
const OpDef kPow{.name = "pow", .infer = infer_like_input, .gradient = grad_pow, .half = HalfKernels::gpu};
const OpDef kClip{
    .name = "clip", .infer = infer_clip, .gradient = grad_from_input<kClipGrad>, .role = HalfRole::follows};
const OpDef kClipGrad{.name = "clip_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};

Value exp(Value x) {
  return x.builder().apply_one(kExp, {x});
}
Value log(Value x) {
  return x.builder().apply_one(kLog, {x});
}
Value sqrt(Value x) {
  return x.builder().apply_one(kSqrt, {x});
}
Value rsqrt(Value x) {
  return x.builder().apply_one(kRsqrt, {x});
}
Value abs(Value x) {
  return x.builder().apply_one(kAbs, {x});
}
Value pow(Value x, double exponent) {
  return x.builder().apply_one(kPow, {x}, {{"exponent", exponent}});
}
Value clip(Value x, double least, double most) {
  return x.builder().apply_one(kClip, {x}, {{"least", least}, {"most", most}});
}

Value neg(Value x) {
  return x.builder().apply_one(kScale, {x}, {{"factor", -1.0}});
}

}  // namespace troupe
