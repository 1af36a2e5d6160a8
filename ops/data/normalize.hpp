#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/core/dtype.hpp"

namespace troupe {

/// Computes y = x * scale + shift for n elements x. `dtype` is that of x and must be uint8 or float32.
void normalize(std::int64_t n, DType dtype, const std::byte* x, float scale, float shift, float* y);

}  // namespace troupe
