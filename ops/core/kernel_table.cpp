#include "troupe/ops/core/kernel_table.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

void KernelTable::add(const OpDef& op, KernelFactory factory) {
  if (!factory) throw Error(op.name, "was given a kernel factory that is empty");
  std::lock_guard lock(mutex_);
  if (!factories_.try_emplace(&op, std::move(factory)).second)
    throw Error(op.name, "has a kernel for this kind of device already");
}

KernelFactory KernelTable::find(const OpDef& op) const {
  std::lock_guard lock(mutex_);
  const auto entry = factories_.find(&op);
  return entry == factories_.end() ? KernelFactory() : entry->second;
}

}  // namespace troupe
