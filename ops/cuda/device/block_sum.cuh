#pragma once

#include <limits>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

// How two numbers become one, for reductions. All are commutative, to the bit.

struct Sum {
  static constexpr float kNone = 0.0F;
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// The larger one; a NaN if one is.
struct Largest {
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct Smallest {
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

/// The lanes of a warp that belong to the calling thread's group of kThreads neighbours, a power of two up to 32.
template <int kThreads>
__device__ unsigned lanes_of_group() {
  if constexpr (kThreads >= kWarp)
    return 0xffffffffU;
  else
    return ((1U << kThreads) - 1U) << (threadIdx.x % kWarp / kThreads * kThreads);
}

/// Combines one number of every thread of a group (see lanes_of_group) in a fixed order; every thread gets the result.
template <int kThreads = kWarp, class T, class Combine>
__device__ T group_reduce(T number, Combine combine) {
  const unsigned lanes = lanes_of_group<kThreads>();
  for (int distance = kThreads / 2; distance > 0; distance /= 2)
    number = combine(number, __shfl_xor_sync(lanes, number, distance));
  return number;
}

/// As above, of a block of whole warps, all of whose threads must call it. `none` leaves every number as it is.
template <class T, class Combine>
__device__ T block_reduce(T number, Combine combine, T none) {
  __shared__ T of_warps[kWarp];
  number = group_reduce(number, combine);
  // The call before may still be reading.
  __syncthreads();
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = number;
  __syncthreads();
  number = threadIdx.x % kWarp < blockDim.x / kWarp ? of_warps[threadIdx.x % kWarp] : none;
  return group_reduce(number, combine);
}

/// The sum over a block.
template <class T>
__device__ T block_sum(T number) {
  return block_reduce(number, Sum(), T(0));
}

}  // namespace troupe::cuda
