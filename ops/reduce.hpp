#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Sum over the given axes, which are removed. Summing over the batch axis gives a value that no longer derives from
/// it.
Value reduce_sum(Value x, std::span<const std::int64_t> axes);
/// Mean over the given axes, which are removed. Throws Error for the batch axis: over uneven parts of a batch a mean of
/// means is wrong; batch_mean is right.
Value reduce_mean(Value x, std::span<const std::int64_t> axes);

/// [B] -> scalar: the sum of this replica's rows divided by the rows of the whole batch, so that the results of all
/// replicas add up to the mean. `batch_info` is the loader's int64[4]: rows, global rows, first global row, step.
Value batch_mean(Value x, Value batch_info);

}  // namespace troupe
