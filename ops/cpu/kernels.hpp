#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Adds the kernels of all ops.
void add_kernels(KernelTable& table);

#define TROUPE_OP(op, factory) std::unique_ptr<Kernel> factory(const OpCall& call);
#include "troupe/ops/graph/op_list.def"

}  // namespace troupe::cpu
