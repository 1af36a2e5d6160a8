#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The same numbers in another dtype. A cast to a 16-bit float converts to float32 first, then rounds to the nearest
/// 16-bit number. A cast to an integer drops the fraction; a number beyond the range becomes the nearest end of the
/// range, and a NaN becomes 0. Only casts from float to float have a gradient: dy, cast back to the dtype of x.
Value cast(Value x, DType dtype);
/// x itself if its dtype is `dtype`, else cast(x, dtype).
Value cast_to(Value x, DType dtype);

}  // namespace troupe
