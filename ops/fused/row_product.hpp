#pragma once

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// Rules of ops that compute a product of rows by one matrix and something more.

/// The result of a matmul of the first `count` inputs, in which one matrix multiplies all rows of the first input.
/// Throws Error if inputs or attributes describe another product.
TensorInfo infer_row_product(const OpInputs& inputs, std::size_t count);

std::int64_t multiply_adds_of_row_product(const OpCall& call);

}  // namespace troupe
