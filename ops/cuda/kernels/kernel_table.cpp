#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

void add_kernels(KernelTable& table) {
  const auto add = [&](const OpDef& op, KernelFactory factory) {
    table.add(op, {std::move(factory), op.half != HalfKernels::none || op.role != HalfRole::none});
  };
#define TROUPE_OP(op, factory) add(op, factory);
#include "troupe/ops/graph/op_list.def"
}

}  // namespace troupe::cuda
