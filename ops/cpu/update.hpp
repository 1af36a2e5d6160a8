#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Decides whether an update is applied. An update without a flag is always applied. An update with a flag, its last
/// input, is applied if the flag is above 0, so not if it is NaN.
struct Condition {
  bool has_flag;
  bool holds(Inputs in) const { return !has_flag || floats(in.back())[0] > 0.0F; }
};

/// Makes the kernel of an update from `update`, a kernel that updates all rows. For a row-sparse parameter (attribute
/// kRowSparse) the made kernel runs `update` only on the rows whose gradient is not zero. For other parameters returns
/// `update` unchanged. The gradient is the input with the index `gradient`. That input, the inputs before it and the
/// outputs must be scalars or have the shape of the parameter, and `update` must accept any number of rows.
std::unique_ptr<Kernel> of_rows_with_gradient(const OpCall& call, std::size_t gradient, std::unique_ptr<Kernel> update);

}  // namespace troupe::cpu
