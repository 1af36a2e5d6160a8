#pragma once

#include <cstdint>
#include <limits>

namespace troupe::cpu {

inline constexpr int kLanes = 16;

/// The sum of f(0) .. f(n - 1) as sixteen partial sums in a fixed order: the same bits for every vector width. To be
/// called from a function marked TROUPE_SIMD_CLONES.
template <class F>
[[gnu::always_inline]] inline float lane_sum(std::int64_t n, F f) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += f(i + lane);
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += f(i);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/// The largest of n numbers; a NaN if one is. Minus infinity if n is 0.
[[gnu::always_inline]] inline float lane_max(std::int64_t n, const float* x) {
  constexpr auto kLeast = -std::numeric_limits<float>::infinity();
  const auto larger = [](float a, float b) { return b > a || b != b ? b : a; };
  float lanes[kLanes];
  for (auto& lane : lanes) lane = kLeast;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = larger(lanes[lane], x[i + lane]);
  float result = kLeast;
  for (const auto lane : lanes) result = larger(result, lane);
  for (; i < n; ++i) result = larger(result, x[i]);
  return result;
}

}  // namespace troupe::cpu
