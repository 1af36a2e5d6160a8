#include "troupe/ops/library/activation.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace troupe {

namespace {

std::vector<Value> grad_softplus(const OpGradient& g) {
  return {mul(g.dys[0], sigmoid(g.inputs[0]))};
}

}  // namespace

const OpDef kTanhGrad{.name = "tanh_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};
const OpDef kSigmoidGrad{.name = "sigmoid_grad", .infer = infer_like_both_inputs, .half = HalfKernels::gpu};
const OpDef kGeluGrad{.name = "gelu_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};
const OpDef kGeluTanhGrad{
    .name = "gelu_tanh_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};
const OpDef kSiluGrad{.name = "silu_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};
const OpDef kTanh{
    .name = "tanh", .infer = infer_like_input, .gradient = grad_from_output<kTanhGrad>, .role = HalfRole::follows};
const OpDef kSigmoid{
    .name = "sigmoid", .infer = infer_like_input, .gradient = grad_from_output<kSigmoidGrad>, .half = HalfKernels::gpu};
const OpDef kGelu{
    .name = "gelu", .infer = infer_like_input, .gradient = grad_from_input<kGeluGrad>, .role = HalfRole::follows};
const OpDef kGeluTanh{.name = "gelu_tanh",
                      .infer = infer_like_input,
                      .gradient = grad_from_input<kGeluTanhGrad>,
                      .role = HalfRole::follows};
const OpDef kSilu{
    .name = "silu", .infer = infer_like_input, .gradient = grad_from_input<kSiluGrad>, .role = HalfRole::follows};
const OpDef kSoftplus{
    .name = "softplus", .infer = infer_like_input, .gradient = grad_softplus, .half = HalfKernels::gpu};

Value tanh(Value x) {
  return x.builder().apply_one(kTanh, {x});
}
Value sigmoid(Value x) {
  return x.builder().apply_one(kSigmoid, {x});
}
Value gelu(Value x) {
  return x.builder().apply_one(kGelu, {x});
}
Value gelu_tanh(Value x) {
  return x.builder().apply_one(kGeluTanh, {x});
}
Value silu(Value x) {
  return x.builder().apply_one(kSilu, {x});
}
Value softplus(Value x) {
  return x.builder().apply_one(kSoftplus, {x});
}

}  // namespace troupe
