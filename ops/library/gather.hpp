#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The rows of a table [N, ...] whose numbers are given by `indices`, int32 or int64 [I...]: [I..., ...]. The table is
/// float32 and does not derive from the batch. An index outside 0 .. N-1 ends the step with an Error. A trained table
/// is an embedding.
Value gather(Value table, Value indices);

/// The gradient of gather: [rows, ...], where row i of `values` is added to row indices[i], and rows without an index
/// are zero. `values` is float32 [I..., ...], `indices` int32 or int64 [I...].
Value scatter_add(Value values, Value indices, std::int64_t rows);

/// float32 [I..., classes]: 1 at the position that `indices`, int32 or int64 [I...], gives, else 0. An index outside
/// 0 .. classes-1 ends the step with an Error.
Value one_hot(Value indices, std::int64_t classes);

}  // namespace troupe
