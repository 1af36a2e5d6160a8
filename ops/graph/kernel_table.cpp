#include "troupe/ops/graph/kernel_table.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

void KernelTable::add(const OpDef& op, RegisteredKernel kernel) {
  if (!kernel.factory) throw Error(op.name, "was given a kernel factory that is empty");
  std::lock_guard lock(mutex_);
  if (!kernels_.try_emplace(&op, std::move(kernel)).second)
    throw Error(op.name, "has a kernel for this kind of device already");
}

std::optional<RegisteredKernel> KernelTable::find(const OpDef& op) const {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(&op);
  return found == kernels_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace troupe
