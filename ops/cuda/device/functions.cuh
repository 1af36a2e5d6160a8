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

/// The standard normal distribution: the probability of a value below x, and the density at x.
__device__ inline float normal_probability(float x) {
  constexpr float kInverseSqrt2 = 0.70710678F;
  return 0.5F * erfcf(-x * kInverseSqrt2);
}
__device__ inline float normal_density(float x) {
  constexpr float kInverseSqrt2Pi = 0.39894228F;
  return kInverseSqrt2Pi * expf(-0.5F * x * x);
}

/// The tanh approximation of gelu is x * part, where part = (1 + tanh(z)) / 2 = sigmoid(2 * z) and z = sqrt(2 / pi) *
/// (x + 0.044715 * x^3). `slope` is the derivative of `part` at x.
struct GeluTanhPart {
  float part, slope;
};
__device__ inline GeluTanhPart gelu_tanh_part_of(float x) {
  constexpr float kTwiceSqrt2OverPi = 1.59576912F, kCubic = 0.044715F;
  // Beyond +-20 `part` rounds to 0 or 1. So x is limited to this range, in which its square does not overflow.
  const float near = x < -20.0F ? -20.0F : (x > 20.0F ? 20.0F : x);
  const float square = near * near;
  const float part = sigmoid_of(kTwiceSqrt2OverPi * near * (1.0F + kCubic * square));
  return {part, part * (1.0F - part) * kTwiceSqrt2OverPi * (1.0F + 3.0F * kCubic * square)};
}

// Function objects that compute one element of an element-wise op. A gradient takes dy and either the input x or the
// result y of its op.

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Subtract {
  __device__ float operator()(float a, float b) const { return a - b; }
};
struct Multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct Divide {
  __device__ float operator()(float a, float b) const { return a / b; }
};
struct Scale {
  float factor;
  __device__ float operator()(float x) const { return x * factor; }
};

// relu(x), where a NaN stays a NaN.
struct Relu {
  __device__ float operator()(float x) const { return x < 0.0F ? 0.0F : x; }
};
struct ReluGrad {
  __device__ float operator()(float dy, float y) const { return y > 0.0F ? dy : 0.0F; }
};

struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};
struct Sqrt {
  __device__ float operator()(float x) const { return sqrtf(x); }
};
struct Rsqrt {
  __device__ float operator()(float x) const { return 1.0F / sqrtf(x); }
};
struct Abs {
  __device__ float operator()(float x) const { return fabsf(x); }
};
// The gradient of abs(x): 0 where x is 0, and NaN where x is NaN.
struct AbsGrad {
  __device__ float operator()(float dy, float x) const { return x > 0.0F ? dy : (x < 0.0F ? -dy : x * 0.0F); }
};
struct Square {
  __device__ float operator()(float x) const { return x * x; }
};
struct Pow {
  float exponent;
  __device__ float operator()(float x) const { return powf(x, exponent); }
};
struct Clip {
  float least, most;
  __device__ float operator()(float x) const { return x < least ? least : (x > most ? most : x); }
};
struct ClipGrad {
  float least, most;
  __device__ float operator()(float dy, float x) const { return x < least || x > most ? 0.0F : dy; }
};

struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};
struct TanhGrad {
  __device__ float operator()(float dy, float y) const { return dy * (1.0F - y * y); }
};
struct Sigmoid {
  __device__ float operator()(float x) const { return sigmoid_of(x); }
};
struct SigmoidGrad {
  __device__ float operator()(float dy, float y) const { return dy * (y * (1.0F - y)); }
};
struct Gelu {
  __device__ float operator()(float x) const { return x * normal_probability(x); }
};
struct GeluGrad {
  __device__ float operator()(float dy, float x) const { return dy * (normal_probability(x) + x * normal_density(x)); }
};
struct GeluTanh {
  __device__ float operator()(float x) const { return x * gelu_tanh_part_of(x).part; }
};
struct GeluTanhGrad {
  __device__ float operator()(float dy, float x) const {
    const auto of_x = gelu_tanh_part_of(x);
    return dy * (of_x.part + x * of_x.slope);
  }
};
struct Silu {
  __device__ float operator()(float x) const { return x * sigmoid_of(x); }
};
struct SiluGrad {
  __device__ float operator()(float dy, float x) const {
    const float s = sigmoid_of(x);
    return dy * (s * (1.0F + x * (1.0F - s)));
  }
};
/// log(1 + exp(x)), without overflow and without losing the digits of a small result.
struct Softplus {
  __device__ float operator()(float x) const { return (x < 0.0F ? 0.0F : x) + log1pf(expf(-fabsf(x))); }
};
struct AtLeast {
  float threshold;
  __device__ float operator()(float x) const { return x >= threshold ? 1.0F : 0.0F; }
};
struct AtMost {
  float threshold;
  __device__ float operator()(float x) const { return x <= threshold ? 1.0F : 0.0F; }
};

}  // namespace troupe::cuda
