#include "troupe/ops/graph/kernel.hpp"

#include <algorithm>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device) {
  return backend_of(device).kernels().make(call, device);
}

void expect_kernel(const OpCall& call, Device device) {
  backend_of(device).kernels().expect(call, device);
}

void register_kernel(const OpDef& op, DeviceType type, KernelFactory factory, bool takes_16_bits) {
  backend_of(type).kernels().add(op, {std::move(factory), takes_16_bits});
}

OpCall with_rows(const OpCall& call, std::int64_t rows) {
  auto concrete = call;
  for (auto& info : concrete.inputs) info.shape = info.shape.with_rows(rows);
  for (auto& info : concrete.outputs) info.shape = info.shape.with_rows(rows);
  return concrete;
}

bool has_empty_tensor(const OpCall& call) {
  const auto empty = [](const TensorInfo& info) { return info.shape.elements() == 0; };
  if (call.op->accepts_empty) return false;
  return std::any_of(call.inputs.begin(), call.inputs.end(), empty) ||
         std::any_of(call.outputs.begin(), call.outputs.end(), empty);
}

void fill_with_zeros(Stream& stream, std::span<const Tensor> outputs) {
  for (const auto& output : outputs)
    if (output.bytes() > 0) stream.zero(output.address(), output.bytes());
}

}  // namespace troupe
