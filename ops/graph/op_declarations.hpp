#pragma once

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// The declarations of all ops of the library. The shape and gradient rules of an op are in the source file that defines
// it.
#define TROUPE_OP(op, factory) extern const OpDef op;
#define TROUPE_OP_WITHOUT_KERNEL(op) extern const OpDef op;
#include "troupe/ops/graph/op_list.def"

}  // namespace troupe
