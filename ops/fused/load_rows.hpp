#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The samples of a data set with the given numbers, int32 [B]: rows of `data` [N, ...], of any dtype, which does not
/// derive from the batch. A number outside 0 .. N-1 ends the step with an Error. It has no gradient.
Value load_rows(Value data, Value numbers);
/// Samples of uint8 or float32 data as float32 `row * scale + shift`. A number outside 0 .. N-1 ends the step with an
/// Error. It has no gradient.
Value load_rows(Value data, Value numbers, float scale, float shift);

}  // namespace troupe
