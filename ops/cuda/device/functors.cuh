#pragma once

#include "troupe/ops/cuda/device/functions.cuh"

namespace troupe::cuda {

// The element-wise ops as function objects on elements, arithmetic first.

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

// A NaN stays NaN.
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
// A NaN stays NaN.
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
struct Softplus {
  __device__ float operator()(float x) const { return softplus_of(x); }
};
struct AtLeast {
  float threshold;
  __device__ float operator()(float x) const { return x >= threshold ? 1.0F : 0.0F; }
};

}  // namespace troupe::cuda
