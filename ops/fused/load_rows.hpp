#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Samples of a data set by their numbers, int32 [B]: rows of `data`, [N, ...] of any dtype, which does not derive from
/// the batch. A number outside 0 .. N-1 ends the step with an Error. It has no gradient.
Value load_rows(Value data, Value numbers);
/// As above, of uint8 or float32 data, as float32 `row * scale + shift`.
Value load_rows(Value data, Value numbers, float scale, float shift);

}  // namespace troupe
