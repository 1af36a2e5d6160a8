#pragma once

#include <cstdint>

namespace troupe::cpu {

/// y = max(x, 0) for n elements; y may be x. A NaN passes, which oneDNN's relu would turn into 0: it must not be
/// hidden.
void relu(std::int64_t n, const float* x, float* y);

}  // namespace troupe::cpu
