#pragma once

#include <bit>
#include <cstdint>

namespace troupe::cpu {

/// exp(x) to about 2 units in the last place, in a form that compilers turn into vector code: x = n ln 2 + r with |r|
/// <= ln 2 / 2, exp(r) by its Taylor polynomial of degree 7, and 2^n by its exponent bits. Returns NaN for NaN, the
/// smallest normal numbers for an underflow, and infinity for an overflow.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts. The first has few bits, so that n * kLn2High is exact.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  const float clamped = x < -87.0F ? -87.0F : (x > 88.5F ? 88.5F : x);
  const float shifted = clamped * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto bits = std::bit_cast<std::uint32_t>(shifted) << 23;
  const auto scaled = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + bits);
  return x > 88.5F ? std::bit_cast<float>(0x7f800000U) : (x == x ? scaled : x);
}

}  // namespace troupe::cpu
