#pragma once

#include <optional>
#include <span>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

enum class ReduceOp { sum, mean };

/// Combines the values of all replicas (float32). Without an axis: element by element, in replica order; the shapes
/// must be alike. Along axis 0: first over the rows of each value, whose numbers may differ; the mean divides by the
/// number of all rows, so [0, 1, 2, 3] and [4, 5] give 2.5. Replicas without rows count as nothing. Throws Error if
/// shapes do not fit or there is nothing to take a mean of.
Tensor reduce(ReduceOp op, std::span<const Tensor> per_replica, std::optional<int> axis = std::nullopt);

}  // namespace troupe
