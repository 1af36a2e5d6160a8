#pragma once

#include <cstdint>

namespace troupe {

/// Computes y = x * scale + shift for n elements.
void normalize(std::int64_t n, const std::uint8_t* x, float scale, float shift, float* y);
void normalize(std::int64_t n, const float* x, float scale, float shift, float* y);

}  // namespace troupe
