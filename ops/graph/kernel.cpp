#include "troupe/ops/graph/kernel.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace cpu {
std::unique_ptr<Kernel> make_kernel(const OpCall& call);
}

std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device) {
  if (device.type != DeviceType::cpu) throw Error(call.op->name, "this build has no kernels for " + to_string(device));
  return cpu::make_kernel(call);
}

bool has_empty_tensor(const OpCall& call) {
  const auto empty = [](const TensorInfo& info) { return info.shape.elements() == 0; };
  // One empty part does not make a block or a norm of several tensors empty.
  if (call.op == &kPack || call.op == &kGlobalNormFactor)
    return std::all_of(call.inputs.begin(), call.inputs.end(), empty);
  return std::any_of(call.inputs.begin(), call.inputs.end(), empty) ||
         std::any_of(call.outputs.begin(), call.outputs.end(), empty);
}

void fill_with_zeros(std::span<const Tensor> outputs) {
  for (const auto& output : outputs)
    if (output.bytes() > 0) std::memset(output.mutable_raw(), 0, output.bytes());
}

}  // namespace troupe
