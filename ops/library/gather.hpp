#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Returns float32 [I..., ...]: for every index the row of `table` with that number. `table` must be float32 [N, ...]
/// and must not have the batch axis B. `indices` must be int32 or int64 [I...], where I... are any axes. An index
/// outside 0 .. N-1 ends the step with an Error. With a trained table, gather is an embedding.
Value gather(Value table, Value indices);

/// Returns float32 [rows, ...]: zeros, to which row i of `values` is added in row indices[i]. It is the gradient of
/// gather. `values` must be float32 [I..., ...] and `indices` int32 or int64 [I...], where I... are any axes. An index
/// outside 0 .. rows-1 ends the step with an Error.
Value scatter_add(Value values, Value indices, std::int64_t rows);

/// Returns float32 [I..., classes]: for every index a row of zeros with 1 at the position of the index. `indices` must
/// be int32 or int64 [I...], where I... are any axes. An index outside 0 .. classes-1 ends the step with an Error. The
/// indices get no gradient.
Value one_hot(Value indices, std::int64_t classes);

}  // namespace troupe
