#pragma once

#include <algorithm>
#include <bit>
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

/// The position of a number in the order of floats, as an integer that compares as the number does: -0 comes just
/// before +0, and every NaN has the last position. The maximum of integers takes one vector instruction; that of floats
/// with NaN takes a branch.
[[gnu::always_inline]] inline std::int32_t position_of(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return x != x ? std::numeric_limits<std::int32_t>::max() : bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

/// The number at a position; NaN at the last one.
[[gnu::always_inline]] inline float value_at(std::int32_t position) {
  if (position == std::numeric_limits<std::int32_t>::max()) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(position ^ ((position >> 31) & 0x7FFFFFFF));
}

/// The largest of n numbers, or NaN if one of them is NaN. Minus infinity if n is 0. Of zeros, +0 is the largest.
[[gnu::always_inline]] inline float lane_max(std::int64_t n, const float* x) {
  std::int32_t lanes[kLanes];
  for (auto& lane : lanes) lane = position_of(-std::numeric_limits<float>::infinity());
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = std::max(lanes[lane], position_of(x[i + lane]));
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] = std::max(lanes[lane], position_of(x[i]));
  return value_at(*std::max_element(lanes, lanes + kLanes));
}

}  // namespace troupe::cpu
