#pragma once

#include <memory>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/device/walk.cuh"

namespace troupe::cuda {

template <class T>
struct Fill {
  T value;
  T* y;
  __device__ void operator()(std::int64_t i) const { y[i] = value; }
};

/// y[i] = f(x[i]) for all elements. y may be x.
template <class F, class T = float>
struct MapOne {
  F f;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const { store(y, i, f(load(x, i))); }
};

/// y[i] = f(a[i], b[i]), with elements of type T and results of type R. y may be a or b if the types are the same.
template <class F, class T = float, class R = T>
struct MapTwo {
  F f;
  const T* a;
  const T* b;
  R* y;
  __device__ void operator()(std::int64_t i) const { store(y, i, f(load(a, i), load(b, i))); }
};

/// Makes a kernel that computes y = f(x) for every element. The op must have one input x, of a floating-point dtype,
/// and an output y of the same shape and dtype. f is called on the device.
template <class F>
std::unique_ptr<Kernel> map_one(const OpCall& call, F f) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [f](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(), MapOne<F, T>{f, data_of<T>(in[0]), mutable_data_of<T>(out[0])});
    });
  });
}

/// Makes a kernel that computes y = f(a, b) for every element. The op must have two inputs a and b, of a floating-point
/// dtype, and an output y, all of the same shape and dtype. f is called on the device.
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

/// Returns a walk over the output of a call, with the positions of its elements in the first kOperands inputs, which
/// are broadcast to the output.
template <int kOperands>
Walk<kOperands> broadcast_walk(const OpCall& call) {
  const auto& output = call.outputs[0].shape;
  std::vector<WalkAxis<kOperands>> axes(output.rank());
  std::array<std::int64_t, kOperands> elements;
  elements.fill(1);
  for (std::size_t i = 0; i < output.rank(); ++i) {
    auto& axis = axes[output.rank() - 1 - i];
    axis.size = output.back(i);
    for (std::size_t k = 0; k < kOperands; ++k) {
      const auto& shape = call.inputs[k].shape;
      const auto size = i < shape.rank() ? shape.back(i) : 1;
      axis.strides[k] = size == 1 ? 0 : elements[k];
      elements[k] *= size;
    }
  }
  return Walk<kOperands>(axes);
}

/// Computes y[i] = f(a, b) for the elements of a and b that are broadcast to element i of y. Elements of a and b have
/// type T, elements of y type R.
template <class F, class T, class R>
struct BroadcastTwo {
  F f;
  Walk<2> walk;
  const T* a;
  const T* b;
  R* y;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t at[2];
    walk.find(i, at);
    store(y, i, f(load(a, at[0]), load(b, at[1])));
  }
};

/// Makes a kernel that computes f of the elements of two inputs, which are broadcast to the output. f is called on the
/// device. T is the element type of the inputs, R that of the output.
template <class T, class R, class F>
std::unique_ptr<Kernel> broadcast_two(const OpCall& call, F f) {
  const bool alike = call.inputs[0].shape == call.inputs[1].shape;
  return cuda_kernel(call, [f, alike, walk = broadcast_walk<2>(call)](const Launch& where, Inputs in, Outputs out) {
    const auto *a = data_of<T>(in[0]), *b = data_of<T>(in[1]);
    auto* y = mutable_data_of<R>(out[0]);
    if (alike)
      for_each(where, out[0].elements(), MapTwo<F, T, R>{f, a, b, y});
    else
      for_each(where, out[0].elements(), BroadcastTwo<F, T, R>{f, walk, a, b, y});
  });
}

}  // namespace troupe::cuda
