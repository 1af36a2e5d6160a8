#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Comparisons of two values, element by element with numpy's broadcasting. The values must have the same dtype:
// float32, int32, int64 or uint8. The result is uint8: 1 where the comparison holds, else 0. For a NaN only not_equal
// holds.

Value equal(Value a, Value b);
Value not_equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value greater(Value a, Value b);
Value greater_equal(Value a, Value b);

}  // namespace troupe
