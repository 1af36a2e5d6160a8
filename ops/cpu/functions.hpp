#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace troupe::cpu {

// Functions of one number in a form that compilers turn into vector code. They are accurate to a few units in the last
// place unless their comment says otherwise.

/// exp(x) to about 2 units in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, exp(r) by its Taylor polynomial of
/// degree 7, and 2^n by its exponent bits. Returns NaN for NaN, exp(-87), which is close to the smallest normal number,
/// for x below -87, and infinity for x above 88.5.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts. The first has few bits, so that n * kLn2High is exact.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: x + kRounder has x, rounded, in its low bits
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

/// exp(x), but 0 for x below -87 and infinity for x above 88.5. The exact exp(x) is subnormal below -87.34 and
/// overflows above 88.72.
[[gnu::always_inline]] inline float exp_or_zero(float x) {
  const float y = exp_of(x);
  return x < -87.0F ? 0.0F : y;
}

/// log(x) = exponent ln 2 + polynomial of the mantissa in [sqrt(1/2), sqrt(2)). The coefficients are those of Moshier's
/// Cephes library (logf). Returns minus infinity for 0, NaN for a negative x, and infinity and NaN unchanged.
[[gnu::always_inline]] inline float log_of(float x) {
  constexpr float kTwoTo23 = 8388608.0F;
  const bool subnormal = x < std::numeric_limits<float>::min();
  const auto bits = std::bit_cast<std::uint32_t>(subnormal ? x * kTwoTo23 : x);
  const float half = std::bit_cast<float>((bits & 0x007fffffU) | 0x3f000000U);  // the mantissa in [0.5, 1)
  const bool small = half < 0.70710678F;
  const float m = small ? half + half - 1.0F : half - 1.0F;
  const auto exponent = static_cast<std::int32_t>((bits >> 23) & 0xffU) - 126 - (subnormal ? 23 : 0) - (small ? 1 : 0);
  const auto e = static_cast<float>(exponent);
  const float z = m * m;
  float p = 7.0376836292e-2F;
  p = p * m - 1.1514610310e-1F;
  p = p * m + 1.1676998740e-1F;
  p = p * m - 1.2420140846e-1F;
  p = p * m + 1.4249322787e-1F;
  p = p * m - 1.6668057665e-1F;
  p = p * m + 2.0000714765e-1F;
  p = p * m - 2.4999993993e-1F;
  p = p * m + 3.3333331174e-1F;
  const float y = (p * m * z - 2.12194440e-4F * e) - 0.5F * z;
  const float value = (m + y) + 0.693359375F * e;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float beyond = x == 0.0F ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  const float defined = x < kInfinity ? value : x;  // infinity and NaN are returned unchanged
  return x <= 0.0F ? beyond : defined;
}

/// log(1 + x) for x in [0, 1], without losing the digits of a small x. Source: Goldberg, "What every computer scientist
/// should know about floating-point arithmetic" (1991), theorem 4.
[[gnu::always_inline]] inline float log1p_of(float x) {
  const float sum = 1.0F + x;
  const float rounded = sum - 1.0F;
  return rounded == 0.0F ? x : log_of(sum) * (x / rounded);
}

/// tanh(x): a polynomial with the coefficients of Cephes (tanhf) for |x| < 0.625, else computed from exp(2 |x|).
[[gnu::always_inline]] inline float tanh_of(float x) {
  const float size = x < 0.0F ? -x : x;
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float near_zero = p * z * x + x;
  const float far = 1.0F - 2.0F / (exp_of(2.0F * size) + 1.0F);
  return size < 0.625F ? near_zero : (x < 0.0F ? -far : far);
}

[[gnu::always_inline]] inline float sigmoid_of(float x) {
  return 1.0F / (1.0F + exp_of(-x));
}

/// log(1 + exp(x)).
[[gnu::always_inline]] inline float softplus_of(float x) {
  const float size = x < 0.0F ? -x : x;
  return (x < 0.0F ? 0.0F : x) + log1p_of(exp_or_zero(-size));
}

/// The standard normal distribution at x: the probability of a smaller value, and the density. The probability uses
/// Abramowitz and Stegun's formula 7.1.26 for the error function, whose absolute error is 1.5e-7.
struct Normal {
  float probability, density;
};
[[gnu::always_inline]] inline Normal normal_of(float x) {
  constexpr float kInverseSqrt2 = 0.70710678F, kInverseSqrt2Pi = 0.39894228F;
  const float z = (x < 0.0F ? -x : x) * kInverseSqrt2;
  const float t = 1.0F / (1.0F + 0.3275911F * z);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float bell = exp_or_zero(-z * z);
  const float tail = 0.5F * p * t * bell;
  return {x < 0.0F ? tail : 1.0F - tail, kInverseSqrt2Pi * bell};
}

/// `part` is the factor by which the tanh approximation of gelu multiplies x: (1 + tanh(z)) / 2 = sigmoid(2 z) with z =
/// sqrt(2 / pi) (x + 0.044715 x^3). `slope` is the derivative of that factor at x.
struct GeluTanhPart {
  float part, slope;
};
[[gnu::always_inline]] inline GeluTanhPart gelu_tanh_part_of(float x) {
  constexpr float kTwiceSqrt2OverPi = 1.59576912F, kCubic = 0.044715F;
  // For |x| > 20 the factor is 0 or 1 in float32. x is limited to [-20, 20], because the square of a larger x might
  // overflow.
  // Two selections: of a nested one the compiler makes branches.
  const float above = x < -20.0F ? -20.0F : x;
  const float near = above > 20.0F ? 20.0F : above;
  const float square = near * near;
  const float part = sigmoid_of(kTwiceSqrt2OverPi * near * (1.0F + kCubic * square));
  return {part, part * (1.0F - part) * kTwiceSqrt2OverPi * (1.0F + 3.0F * kCubic * square)};
}

}  // namespace troupe::cpu
