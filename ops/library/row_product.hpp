#pragma once

#include <vector>

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// For ops that are a product and something more.

/// The result of a matmul of the first `count` inputs, all rows of the first times one matrix. Throws Error if they or
/// the attributes describe another product.
TensorInfo infer_row_product(const OpInputs& inputs, std::size_t count);

/// All axes but the last: those over which rows are summed.
std::vector<std::int64_t> axes_of_rows(const Shape& shape);

std::int64_t multiply_adds_of_row_product(const OpCall& call);

}  // namespace troupe
