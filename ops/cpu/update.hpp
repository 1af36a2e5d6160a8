#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Decides whether an update is applied. An update without a flag is always applied. An update with a flag, its last
/// input, is applied if the flag is above 0, so not if it is NaN.
struct Condition {
  bool has_flag;
  bool holds(Inputs in) const { return !has_flag || floats(in.back())[0] > 0.0F; }
};

/// Makes a kernel that runs `update` on the rows whose gradient is not zero, if the parameter is row-sparse. Returns
/// `update` unchanged for other parameters. The gradient is the input with the index `gradient`. That input, the inputs
/// before it and the outputs must have the shape of the parameter, and `update` must accept any number of rows.
std::unique_ptr<Kernel> of_rows_with_gradient(const OpCall& call, std::size_t gradient, std::unique_ptr<Kernel> update);

}  // namespace troupe::cpu
