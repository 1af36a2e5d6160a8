#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

void add_kernels(KernelTable& table) {
  const auto add = [&](const OpDef& op, KernelFactory factory) {
    table.add(op, {std::move(factory), op.half == HalfKernels::all});
  };
#define TROUPE_OP(op, factory) add(op, factory);
#include "troupe/ops/graph/op_list.def"
}

}  // namespace troupe::cpu
