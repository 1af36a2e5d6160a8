#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Comparisons element by element with numpy's broadcasting, of float32, int32, int64 or uint8, both of one dtype:
/// uint8, 1 where it holds and else 0. With a NaN only not_equal holds.
Value equal(Value a, Value b);
Value not_equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value greater(Value a, Value b);
Value greater_equal(Value a, Value b);

/// a where the condition (uint8) is not 0, else b; a and b are float32, and all three stretch to one shape.
Value where(Value condition, Value a, Value b);

/// The same numbers as another dtype. Towards a 16-bit one they are rounded to float32, then to the nearest; towards an
/// integer the fraction is dropped, a number beyond its range becomes its nearest end, a NaN 0. A gradient passes from
/// one float to another only, and is cast back.
Value cast(Value x, DType dtype);
/// x itself if it has the dtype, else its cast.
Value cast_to(Value x, DType dtype);

}  // namespace troupe
