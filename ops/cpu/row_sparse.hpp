#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// A kernel of the update of a row-sparse parameter: `update` of the rows whose gradient is not zero. Otherwise
/// `update` itself. Its outputs and its inputs up to `gradient` have the shape of the parameter, and it takes any
/// number of rows.
std::unique_ptr<Kernel> of_rows_with_gradient(const OpCall& call, std::size_t gradient, std::unique_ptr<Kernel> update);

}  // namespace troupe::cpu
