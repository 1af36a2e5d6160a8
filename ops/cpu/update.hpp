#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Whether an update is applied: it has no flag, or its flag, the last input, is above 0. A NaN is not above 0.
struct Condition {
  bool has_flag;
  bool holds(Inputs in) const { return !has_flag || floats(in.back())[0] > 0.0F; }
};

/// Makes a kernel that runs `update` on the rows whose gradient is not zero if the parameter is row-sparse. Returns
/// `update` itself for other parameters. The outputs of `update`, and its inputs up to index `gradient`, have the shape
/// of the parameter, and it accepts any number of rows.
std::unique_ptr<Kernel> of_rows_with_gradient(const OpCall& call, std::size_t gradient, std::unique_ptr<Kernel> update);

}  // namespace troupe::cpu
