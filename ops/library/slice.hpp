#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Ops that cut, pad or join values along an axis. A negative axis counts from the end: -1 is the last axis. The axis
// must not be the batch axis B. Only slice_rows and rows_of_part select rows of the batch.

/// Elements `begin` to `begin + size - 1` along one axis of x, which may have any dtype.
Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t size);

/// Splits one axis of x into consecutive parts of the given sizes, which must add up to the size of the axis.
std::vector<Value> split(Value x, std::int64_t axis, const std::vector<std::int64_t>& sizes);
inline std::vector<Value> split(Value x, std::int64_t axis, std::initializer_list<std::int64_t> sizes) {
  return split(x, axis, std::vector(sizes));
}
/// Splits one axis of x into `parts` consecutive parts of equal size. Throws Error if `parts` does not divide the size.
std::vector<Value> split(Value x, std::int64_t axis, std::int64_t parts);

/// x with before[i] elements of `value` added before axis i and after[i] added after it; both must be 0 at the batch
/// axis. The dtype must be float32, int32, int64 or uint8, and must be able to hold `value`.
Value pad(Value x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after, double value = 0.0);

/// Joins values along an axis. The values must have the same dtype and the same sizes along all other axes.
Value concat(std::span<const Value> values, std::int64_t axis);
inline Value concat(std::initializer_list<Value> values, std::int64_t axis) {
  return concat(std::span(values.begin(), values.size()), axis);
}

/// Returns float32 [size, ...]: rows `begin` to `begin + size - 1` of the whole batch. Rows that other replicas hold,
/// or that the batch does not have, are zero. The sum of the results of all replicas (all_reduce) is the slice of the
/// whole batch. x must be float32 [B, ...], and `batch_info` GraphBuilder::batch_info().
Value slice_rows(Value x, std::int64_t begin, std::int64_t size, Value batch_info);

/// Returns float32 [B, ...]: the rows of x that have the numbers of this replica's rows in the whole batch. x must be
/// float32 [N, ...] and must not have the batch axis B. `like` may be any value [B, ...]; it gives the number of rows
/// of this replica. A replica whose rows reach past row N ends the step with an Error. `batch_info` must be
/// GraphBuilder::batch_info().
Value rows_of_part(Value x, Value like, Value batch_info);

}  // namespace troupe
