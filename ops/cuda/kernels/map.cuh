#pragma once

#include <memory>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

/// y[i] = f(x[i]) for all elements. y may be x.
template <class F, class T = float>
struct MapOne {
  F f;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const { store(y, i, f(load(x, i))); }
};

/// y[i] = f(a[i], b[i]).
template <class F, class T = float>
struct MapTwo {
  F f;
  const T* a;
  const T* b;
  T* y;
  __device__ void operator()(std::int64_t i) const { store(y, i, f(load(a, i), load(b, i))); }
};

/// A kernel of an op with one input of a floating-point dtype and an output of the same shape and dtype. F is called on
/// the device.
template <class F>
std::unique_ptr<Kernel> map_one(const OpCall& call, F f) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [f](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(), MapOne<F, T>{f, data_of<T>(in[0]), mutable_data_of<T>(out[0])});
    });
  });
}

/// A kernel of an op with two inputs of a floating-point dtype and an output of the same shape and dtype. F is called
/// on the device.
template <class F>
std::unique_ptr<Kernel> map_two(const OpCall& call, F f) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [f](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(),
               MapTwo<F, T>{f, data_of<T>(in[0]), data_of<T>(in[1]), mutable_data_of<T>(out[0])});
    });
  });
}

}  // namespace troupe::cuda
