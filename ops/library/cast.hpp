#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The same numbers in another dtype. A cast to a 16-bit float rounds to float32 first, then to the nearest. A cast to
/// an integer drops the fraction; a number beyond the range becomes the nearest end of the range, and a NaN becomes 0.
/// A gradient passes only between floats, and is cast back.
Value cast(Value x, DType dtype);
/// x itself if it has the dtype, else its cast.
Value cast_to(Value x, DType dtype);

}  // namespace troupe
