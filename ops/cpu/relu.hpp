#pragma once

#include <cstdint>

namespace troupe::cpu {

/// Computes y = max(x, 0) for n elements. y may be x. A NaN stays NaN, while oneDNN's relu would hide it as 0.
void relu(std::int64_t n, const float* x, float* y);

}  // namespace troupe::cpu
