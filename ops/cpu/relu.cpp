#include "troupe/ops/cpu/relu.hpp"

#include "troupe/ops/core/simd_clones.hpp"

namespace troupe::cpu {

TROUPE_SIMD_CLONES static void relu_loop(std::int64_t n, const float* x, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] < 0.0F ? 0.0F : x[i];
}

void relu(std::int64_t n, const float* x, float* y) {
  relu_loop(n, x, y);
}

}  // namespace troupe::cpu
