#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Rows of a table [N, ...] by their numbers, int32 or int64 [I...]: [I..., ...]. The table is float32 and does not
/// derive from the batch. A number outside 0 .. N-1 ends the step with an Error. With a trained table: an embedding.
Value gather(Value table, Value indices);

/// The opposite: [rows, ...], to whose row indices[i] row i of `values` is added; others are zero. `values` is float32
/// [I..., ...], `indices` int32 or int64 [I...].
Value scatter_add(Value values, Value indices, std::int64_t rows);

/// float32 [I..., classes]: 1 at the number that indices (int32 or int64 [I...]) give, else 0. A number outside
/// 0 .. classes-1 ends the step with an Error.
Value one_hot(Value indices, std::int64_t classes);

}  // namespace troupe
