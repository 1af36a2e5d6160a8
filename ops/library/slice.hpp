#pragma once

#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// `size` elements of one axis from `begin` on, of any dtype. The axis counts from the back if negative; it must not be
/// the batch: see slice_rows.
Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t size);

/// Consecutive parts of one axis, of the given sizes, which add up to that of the axis.
std::vector<Value> split(Value x, std::int64_t axis, const std::vector<std::int64_t>& sizes);
/// `parts` equal parts.
std::vector<Value> split(Value x, std::int64_t axis, std::int64_t parts);

/// x with before[i] elements of `value` in front of axis i and after[i] behind it. None at the batch axis.
Value pad(Value x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after, double value = 0.0);

/// Values of one dtype one behind the other along an axis, which must not be the batch; all other sizes are alike.
Value concat(std::span<const Value> values, std::int64_t axis);

/// Rows `begin` to `begin + size` of the whole batch, [size, ...]: those that this replica has, and zeros where another
/// has them, so that the sum over all replicas (all_reduce) is the slice. float32. `batch_info` is the loader's.
Value slice_rows(Value x, std::int64_t begin, std::int64_t size, Value batch_info);

/// The rows of a value [N, ...] that belong to this replica's part of the batch, [B, ...]: those from its first global
/// row on. float32. `like` is any value [B, ...] of the part, for its rows. A part that reaches past row N ends the
/// step with an Error.
Value rows_of_part(Value x, Value like, Value batch_info);

}  // namespace troupe
