#pragma once

#include <cuda_runtime.h>

#include <cfloat>

namespace troupe::cuda {

// Functions of one number in device code.

__device__ inline bool is_finite(float x) {
  return fabsf(x) <= FLT_MAX;
}

__device__ inline float sigmoid_of(float x) {
  return 1.0F / (1.0F + expf(-x));
}

/// log(1 + exp(x)), without overflow and without losing the digits of a small result.
__device__ inline float softplus_of(float x) {
  return (x < 0.0F ? 0.0F : x) + log1pf(expf(-fabsf(x)));
}

/// The standard normal distribution at x: the probability of a smaller value, and the density.
__device__ inline float normal_probability(float x) {
  constexpr float kInverseSqrt2 = 0.70710678F;
  return 0.5F * erfcf(-x * kInverseSqrt2);
}
__device__ inline float normal_density(float x) {
  constexpr float kInverseSqrt2Pi = 0.39894228F;
  return kInverseSqrt2Pi * expf(-0.5F * x * x);
}

/// The factor by which gelu's tanh approximation multiplies x, (1 + tanh(z)) / 2 = sigmoid(2 z) with z = sqrt(2 / pi)
/// (x + 0.044715 x^3), and the slope of the factor at x.
struct GeluTanhPart {
  float part, slope;
};
__device__ inline GeluTanhPart gelu_tanh_part_of(float x) {
  constexpr float kTwiceSqrt2OverPi = 1.59576912F, kCubic = 0.044715F;
  // Beyond +-20 the factor is 0 or 1, but the squares might overflow.
  const float near = x < -20.0F ? -20.0F : (x > 20.0F ? 20.0F : x);
  const float square = near * near;
  const float part = sigmoid_of(kTwiceSqrt2OverPi * near * (1.0F + kCubic * square));
  return {part, part * (1.0F - part) * kTwiceSqrt2OverPi * (1.0F + 3.0F * kCubic * square)};
}

}  // namespace troupe::cuda
