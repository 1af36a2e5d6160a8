#pragma once

#include <span>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// ((x0 + x1) + x2) + ... of one or more values of one shape and dtype: float32, int32, int64, float16 or bfloat16. The
/// 16-bit ones are rounded after every addition. Float32 sums have a gradient.
Value add_n(std::span<const Value> values);

}  // namespace troupe
