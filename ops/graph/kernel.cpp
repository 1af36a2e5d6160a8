#include "troupe/ops/graph/kernel.hpp"

#include <algorithm>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void KernelTable::add(const OpDef& op, RegisteredKernel kernel) {
  if (!kernel.factory) throw Error(op.name, "was given a kernel factory that is empty");
  std::lock_guard lock(mutex_);
  if (!kernels_.try_emplace(&op, std::move(kernel)).second)
    throw Error(op.name, "has a kernel for this device type already");
}

std::optional<RegisteredKernel> KernelTable::find(const OpDef& op) const {
  std::lock_guard lock(mutex_);
  const auto entry = kernels_.find(&op);
  return entry == kernels_.end() ? std::nullopt : std::optional(entry->second);
}

void KernelTable::expect(const OpCall& call, Device device) const {
  const auto kernel = find(*call.op);
  if (!kernel) throw Error(call.op->name, "has no kernel for " + to_string(device));
  if (kernel->takes_16_bits) return;
  for (const auto* operands : {&call.inputs, &call.outputs})
    for (const auto& info : *operands)
      if (is_16_bit(info.dtype))
        throw Error(call.op->name, "has no kernel of " + std::string(name_of(info.dtype)) + " for " +
                                       std::string(name_of(device.type)));
}

std::unique_ptr<Kernel> KernelTable::make(const OpCall& call, Device device) {
  KernelTable::expect(call, device);
  return find(*call.op)->factory(call);
}

std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device) {
  return backend_of(device).kernels().make(call, device);
}

void expect_kernel(const OpCall& call, Device device) {
  backend_of(device).kernels().expect(call, device);
}

void register_kernel(const OpDef& op, DeviceType type, KernelFactory factory, bool takes_16_bits) {
  backend_of(type).kernels().add(op, {std::move(factory), takes_16_bits});
}

OpCall with_rows(OpCall call, std::int64_t rows) {
  for (auto& info : call.inputs) info.shape = info.shape.with_rows(rows);
  for (auto& info : call.outputs) info.shape = info.shape.with_rows(rows);
  return call;
}

bool has_empty_tensor(const OpCall& call) {
  if (call.op->accepts_empty) return false;
  const auto is_empty = [](const TensorInfo& info) { return info.shape.elements() == 0; };
  return std::ranges::any_of(call.inputs, is_empty) || std::ranges::any_of(call.outputs, is_empty);
}

void fill_with_zeros(Stream& stream, std::span<const Tensor> outputs) {
  for (const auto& output : outputs)
    if (output.bytes() > 0) stream.zero(output.address(), output.bytes());
}

}  // namespace troupe
