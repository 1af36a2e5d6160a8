#pragma once

#include <optional>
#include <span>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

enum class ReduceOp { sum, mean };

/// Combines the values of all replicas (float32). Without an axis, values of equal shape are combined element by
/// element, in replica order. Along axis 0, the rows of all values are combined; values may differ in their number of
/// rows. The mean divides by the number of all rows, so [0, 1, 2, 3] and [4, 5] give 2.5. Throws Error if shapes do not
/// fit, or there are no rows for a mean.
Tensor reduce(ReduceOp op, std::span<const Tensor> per_replica, std::optional<int> axis = std::nullopt);

}  // namespace troupe
