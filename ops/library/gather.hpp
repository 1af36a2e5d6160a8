#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Returns, for every index i, row i of `table`. `table` must be float32 [N, ...] and must not have the batch axis B.
/// `indices` must be int32 or int64 [I...], where I... are any axes. The result is float32 [I..., ...]: the axes of
/// `indices`, followed by the axes of a row. An index outside 0 .. N-1 ends the step with an Error. With a trained
/// table, gather is an embedding.
Value gather(Value table, Value indices);

/// Returns float32 [rows, ...], the gradient of gather: row r is the sum of the rows of `values` whose index is r, or
/// zeros if no index is r. `values` must be float32 [I..., ...] and `indices` int32 or int64 [I...], where I... are any
/// axes: every index belongs to one row of `values`. An index outside 0 .. rows-1 ends the step with an Error.
Value scatter_add(Value values, Value indices, std::int64_t rows);

/// Returns, for every index i, a row of `classes` elements, all 0 except a 1 at position i. `indices` must be int32 or
/// int64 [I...], where I... are any axes. The result is float32 [I..., classes]. An index outside 0 .. classes-1 ends
/// the step with an Error. The indices get no gradient.
Value one_hot(Value indices, std::int64_t classes);

}  // namespace troupe
