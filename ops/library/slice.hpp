#pragma once

#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Parts of a value along an axis. A negative axis counts from the last one; the axis must not be the batch. Only
// slice_rows and rows_of_part select rows of the batch.

/// `size` elements of one axis from `begin` on. x has any dtype.
Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t size);

/// Consecutive parts of one axis. The sizes add up to the size of the axis.
std::vector<Value> split(Value x, std::int64_t axis, const std::vector<std::int64_t>& sizes);
/// Consecutive parts of one axis, `parts` of equal size.
std::vector<Value> split(Value x, std::int64_t axis, std::int64_t parts);

/// x with before[i] elements of `value` before axis i and after[i] after it; both are 0 at the batch axis. The dtype is
/// float32, int32, int64 or uint8, and holds `value`.
Value pad(Value x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after, double value = 0.0);

/// Values of one dtype joined along an axis. All other sizes are the same.
Value concat(std::span<const Value> values, std::int64_t axis);

/// Rows `begin` to `begin + size` of the whole batch: float32 [size, ...]. Rows that other replicas hold are zero, so
/// the sum over all replicas (all_reduce) is the slice. `batch_info` is GraphBuilder::batch_info().
Value slice_rows(Value x, std::int64_t begin, std::int64_t size, Value batch_info);

/// The rows of x, float32 [N, ...], that belong to this replica's part of the batch: [B, ...], from the first global
/// row of the part on. `like` is any value [B, ...] of the part; it gives the number of rows. A part that reaches past
/// row N ends the step with an Error. `batch_info` is GraphBuilder::batch_info().
Value rows_of_part(Value x, Value like, Value batch_info);

}  // namespace troupe
