#pragma once

#include <memory>

#include "troupe/ops/cuda/cuda_kernel.hpp"

namespace troupe::cuda {

/// y[i] = f(x[i]) for all elements; y may be x.
template <class F>
struct MapOne {
  F f;
  const float* x;
  float* y;
  __device__ void operator()(std::int64_t i) const { y[i] = f(x[i]); }
};

/// y[i] = f(a[i], b[i]).
template <class F>
struct MapTwo {
  F f;
  const float* a;
  const float* b;
  float* y;
  __device__ void operator()(std::int64_t i) const { y[i] = f(a[i], b[i]); }
};

/// A kernel of an op with one input and an output like it. F is called on the device.
template <class F>
std::unique_ptr<Kernel> map_one(const OpCall& call, F f) {
  return cuda_kernel(call, [f](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), MapOne<F>{f, floats(in[0]), mutable_floats(out[0])});
  });
}

/// As above with two inputs.
template <class F>
std::unique_ptr<Kernel> map_two(const OpCall& call, F f) {
  return cuda_kernel(call, [f](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), MapTwo<F>{f, floats(in[0]), floats(in[1]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
