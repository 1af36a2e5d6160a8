#include "troupe/ops/graph/kernel.hpp"

#include <algorithm>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device) {
  return backend_of(device).make_kernel(call, device);
}

void register_kernel(const OpDef& op, DeviceType type, KernelFactory factory, bool takes_16_bits) {
  const bool as_it_is = takes_16_bits || !factory;
  backend_of(type).kernels().add(op, as_it_is ? std::move(factory) : refusing_16_bits(std::move(factory), type));
}

KernelFactory refusing_16_bits(KernelFactory factory, DeviceType type) {
  return [factory = std::move(factory), type](const OpCall& call) {
    for (const auto* operands : {&call.inputs, &call.outputs})
      for (const auto& info : *operands)
        if (is_16_bit(info.dtype))
          throw Error(call.op->name,
                      "has no kernel of " + std::string(name_of(info.dtype)) + " for " + std::string(name_of(type)));
    return factory(call);
  };
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
