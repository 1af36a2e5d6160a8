#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Sum over the given axes, which are removed. Summing over the batch axis gives a value that no longer derives from
/// it.
Value reduce_sum(Value x, std::span<const std::int64_t> axes);
/// Mean over the given axes, which are removed. Throws Error for the batch axis: over uneven parts of a batch a mean of
/// means is wrong; batch_mean is right.
Value reduce_mean(Value x, std::span<const std::int64_t> axes);
/// Largest, smallest, and variance (the mean squared distance from the mean) over the given axes, which are removed and
/// must not contain the batch. A NaN gives a NaN. The gradient of an extreme is shared equally by all elements that
/// are.
Value reduce_max(Value x, std::span<const std::int64_t> axes);
Value reduce_min(Value x, std::span<const std::int64_t> axes);
Value reduce_variance(Value x, std::span<const std::int64_t> axes);

/// x stretched to the shape of `like`; both have the same number of axes.
Value broadcast_to(Value x, Value like);

/// [B] -> scalar: the sum of this replica's rows divided by the rows of the whole batch, so that the results of all
/// replicas add up to the mean. `batch_info` is the loader's int64[4]: rows, global rows, first global row, step.
Value batch_mean(Value x, Value batch_info);

}  // namespace troupe
