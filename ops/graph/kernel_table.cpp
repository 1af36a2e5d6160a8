#include "troupe/ops/graph/kernel_table.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/kernel.hpp"

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

}  // namespace troupe
