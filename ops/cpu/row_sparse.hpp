#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Makes a kernel that runs `update` on the rows whose gradient is not zero if the parameter is row-sparse. Returns
/// `update` itself for other parameters. The outputs of `update`, and its inputs up to index `gradient`, have the shape
/// of the parameter, and it accepts any number of rows.
std::unique_ptr<Kernel> of_rows_with_gradient(const OpCall& call, std::size_t gradient, std::unique_ptr<Kernel> update);

}  // namespace troupe::cpu
