#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/core/dtype.hpp"

namespace troupe {

/// Computes y = x * scale + shift in float32 for n elements. `dtype` is the dtype of x, and must be uint8 or float32.
void normalize(std::int64_t n, DType dtype, const std::byte* x, float scale, float shift, float* y);

}  // namespace troupe
