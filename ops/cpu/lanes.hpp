#pragma once

#include <cstdint>
#include <limits>

namespace troupe::cpu {

inline constexpr int kLanes = 16;

/// The number of terms that lane_sum() adds up before it adds their sum to the result. A single float sum of equal
/// terms would stop growing at 2^24 terms.
inline constexpr std::int64_t kLaneBlock = std::int64_t{4096} * kLanes;

/// The sum f(0) + ... + f(n - 1). The terms of a block are added up as kLanes partial sums that are added in a fixed
/// order, which gives the same bits for every vector width. Call it from a function marked TROUPE_SIMD_CLONES.
template <class F>
[[gnu::always_inline]] inline float lane_sum(std::int64_t n, F f) {
  float sum = 0.0F;
  for (std::int64_t i = 0; i < n;) {
    const auto end = i + (n - i < kLaneBlock ? n - i : kLaneBlock);
    float lanes[kLanes] = {};
    for (; i + kLanes <= end; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += f(i + lane);
    for (int lane = 0; i < end; ++i, ++lane) lanes[lane] += f(i);
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    sum += lanes[0];
  }
  return sum;
}

/// The larger of two numbers; NaN if one of them is NaN.
[[gnu::always_inline]] inline float larger(float a, float b) {
  return b > a || b != b ? b : a;
}

/// The largest of n numbers, or NaN if one of them is NaN. Minus infinity if n is 0.
[[gnu::always_inline]] inline float lane_max(std::int64_t n, const float* x) {
  constexpr auto kLowest = -std::numeric_limits<float>::infinity();
  float lanes[kLanes];
  for (auto& lane : lanes) lane = kLowest;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = larger(lanes[lane], x[i + lane]);
  float result = kLowest;
  for (const auto lane : lanes) result = larger(result, lane);
  for (; i < n; ++i) result = larger(result, x[i]);
  return result;
}

}  // namespace troupe::cpu
