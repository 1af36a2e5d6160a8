#pragma once

#include <span>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Reductions over the given axes, which are removed from the shape.

/// The sum, float32 for every dtype of x. A sum over the batch axis does not derive from the batch.
Value reduce_sum(Value x, std::span<const std::int64_t> axes);
/// The mean, float32 for every dtype of x. Throws Error for the batch axis: a mean of the means of uneven parts is not
/// the mean of the batch. Use batch_mean instead.
Value reduce_mean(Value x, std::span<const std::int64_t> axes);
/// The largest and the smallest element. The axes must not contain the batch. A NaN gives a NaN. The gradient is shared
/// equally by all elements that equal the result.
Value reduce_max(Value x, std::span<const std::int64_t> axes);
Value reduce_min(Value x, std::span<const std::int64_t> axes);
/// The mean squared distance from the mean. The axes must not contain the batch. A NaN gives a NaN.
Value reduce_variance(Value x, std::span<const std::int64_t> axes);

/// All axes of a shape but the last: a reduction over them sums up rows.
std::vector<std::int64_t> axes_of_rows(const Shape& shape);

/// x with its axes of size 1 repeated to the shape of `like`. Both have the same number of axes.
Value broadcast_to(Value x, Value like);

/// [B] -> scalar: the sum over this replica's rows divided by the rows of the whole batch. The results of all replicas
/// add up to the mean of the batch. `batch_info` is GraphBuilder::batch_info().
Value batch_mean(Value x, Value batch_info);

}  // namespace troupe
