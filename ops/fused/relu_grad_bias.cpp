// The gradient of a relu fused with the gradient of the bias before it. A pass (fuse_backward_epilogues) makes this op,
// not users.

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// Inputs: dy, and the result y of the relu. Outputs: the gradient of the input of the relu, and its sum over all axes
// but the last, in float32.
std::vector<TensorInfo> infer_relu_grad_bias(const OpInputs& inputs) {
  auto outputs = infer_like_both_inputs(inputs);
  if (inputs.shape(0).rank() < 2) inputs.refuse("needs values [..., C] of at least 2 axes");
  outputs.push_back({Shape{inputs.shape(0).back(0)}, DType::float32});
  return outputs;
}

}  // namespace

const OpDef kReluGradBias{
    .name = "relu_grad_bias", .infer = infer_relu_grad_bias, .role = HalfRole::activation_gradient};

}  // namespace troupe
