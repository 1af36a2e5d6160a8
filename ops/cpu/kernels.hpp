#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

#define TROUPE_OP(op, factory) std::unique_ptr<Kernel> factory(const OpCall& call);
#include "troupe/ops/graph/op_list.def"

}  // namespace troupe::cpu
