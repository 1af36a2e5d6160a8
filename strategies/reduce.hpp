#pragma once

#include <optional>
#include <span>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

enum class ReduceOp { sum, mean };

/// Combines the values of all replicas into one float32 tensor. The values must be float32 and in host memory. Without
/// an axis, they must have equal shapes and are combined element by element, in replica order. Along axis 0, the rows
/// of all values are combined into one row; values may differ in their number of rows. The mean divides by the number
/// of values without an axis, and by the number of all rows along axis 0, so [0, 1, 2, 3] and [4, 5] give 2.5. Throws
/// Error if there is no value, shapes do not fit, the axis is not 0, or there are no rows for a mean.
Tensor reduce(ReduceOp op, std::span<const Tensor> per_replica, std::optional<int> axis = std::nullopt);

}  // namespace troupe
