#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Returns [B, ...] in the dtype of `data`: for every element of `numbers` the row of `data` with that number. `data`
/// must be [N, ...], such as the samples of a data set on a device, of any dtype and without the batch axis B.
/// `numbers` must be int32 [B]. A number outside 0 .. N-1 ends the step with an Error. The op has no gradient.
Value load_rows(Value data, Value numbers);
/// Returns float32 [B, ...]: `row * scale + shift` for every row that load_rows(data, numbers) gives. `data` must be
/// uint8 or float32 [N, ...] without the batch axis B, and `numbers` int32 [B]. A number outside 0 .. N-1 ends the step
/// with an Error. The op has no gradient.
Value load_rows(Value data, Value numbers, float scale, float shift);

}  // namespace troupe
