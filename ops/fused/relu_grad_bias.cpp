#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// Inputs: dy, y. Outputs: the gradient of what relu made y of, and its sum over all axes but the last, in float32.
std::vector<TensorInfo> infer_relu_grad_bias(const OpInputs& inputs) {
  auto outputs = infer_like_both_inputs(inputs);
  if (inputs.shape(0).rank() < 2) inputs.refuse("needs rows");
  outputs.push_back({Shape{inputs.shape(0).back(0)}, DType::float32});
  return outputs;
}

}  // namespace

const OpDef kReluGradBias{.name = "relu_grad_bias", .infer = infer_relu_grad_bias, .half = HalfKernels::gpu, .role = HalfRole::activation_gradient};

}  // namespace troupe
