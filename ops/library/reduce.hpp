#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Reductions of x over the axes `axes`, which are counted from 0 and removed from the shape, as in reduce_sum(x, {1}).
// An axis that x does not have, or that is given twice, is an Error.

/// The sum, float32 for every float dtype of x. A sum over the batch axis B adds up the rows of this replica, and the
/// result no longer has that axis.
Value reduce_sum(Value x, std::span<const std::int64_t> axes);
inline Value reduce_sum(Value x, std::initializer_list<std::int64_t> axes) {
  return reduce_sum(x, std::span(axes.begin(), axes.size()));
}
/// The mean, float32 for every float dtype of x. Throws Error for the batch axis B: replicas may hold parts of
/// different sizes, and the mean of their means is not the mean of the batch. Use batch_mean instead. Throws Error for
/// an axis of size 0.
Value reduce_mean(Value x, std::span<const std::int64_t> axes);
inline Value reduce_mean(Value x, std::initializer_list<std::int64_t> axes) {
  return reduce_mean(x, std::span(axes.begin(), axes.size()));
}
/// The largest and the smallest element. x must be float32. The axes must not contain the batch axis B or an axis of
/// size 0. A NaN among the elements gives NaN. The gradient is shared equally by all elements that equal the result.
Value reduce_max(Value x, std::span<const std::int64_t> axes);
inline Value reduce_max(Value x, std::initializer_list<std::int64_t> axes) {
  return reduce_max(x, std::span(axes.begin(), axes.size()));
}
Value reduce_min(Value x, std::span<const std::int64_t> axes);
inline Value reduce_min(Value x, std::initializer_list<std::int64_t> axes) {
  return reduce_min(x, std::span(axes.begin(), axes.size()));
}
/// The mean squared distance from the mean. x must be float32. The axes must not contain the batch axis B or an axis of
/// size 0. A NaN among the elements gives NaN.
Value reduce_variance(Value x, std::span<const std::int64_t> axes);
inline Value reduce_variance(Value x, std::initializer_list<std::int64_t> axes) {
  return reduce_variance(x, std::span(axes.begin(), axes.size()));
}

/// All axes but the last of a shape, which must have at least one axis. reduce_sum over them adds up the rows.
std::vector<std::int64_t> axes_of_rows(const Shape& shape);

/// x with its axes of size 1 repeated to the shape of `like`, which must have the same number of axes. x must be
/// float32 or a 16-bit float; `like` may have any dtype.
Value broadcast_to(Value x, Value like);

/// Returns a float32 scalar: the sum of x over the rows of this replica, divided by the number of rows of the whole
/// batch. The results of all replicas add up to the mean of the batch. x must be float32 [B], and `batch_info`
/// GraphBuilder::batch_info().
Value batch_mean(Value x, Value batch_info);

}  // namespace troupe
