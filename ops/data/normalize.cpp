#include "troupe/ops/data/normalize.hpp"

#include "troupe/ops/core/simd_clones.hpp"

namespace troupe {

TROUPE_SIMD_CLONES static void normalize_bytes(std::int64_t n, const std::uint8_t* x, float scale, float shift,
                                               float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]) * scale + shift;
}

TROUPE_SIMD_CLONES static void normalize_floats(std::int64_t n, const float* x, float scale, float shift, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
}

void normalize(std::int64_t n, DType dtype, const std::byte* x, float scale, float shift, float* y) {
  if (dtype == DType::uint8)
    normalize_bytes(n, reinterpret_cast<const std::uint8_t*>(x), scale, shift, y);
  else
    normalize_floats(n, reinterpret_cast<const float*>(x), scale, shift, y);
}

}  // namespace troupe
