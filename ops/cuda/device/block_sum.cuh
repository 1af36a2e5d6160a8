#pragma once

#include <limits>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

// The operations by which a reduction combines two numbers. All are commutative, to the bit. kNone is the neutral
// number.

struct Sum {
  static constexpr float kNone = 0.0F;
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// The larger number, or NaN if one is NaN.
struct Largest {
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
/// A NaN wins over all numbers.
struct Smallest {
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

/// The mask of the lanes of a warp that belong to the calling thread's group of kThreads neighboring threads, where
/// kThreads is a power of two up to 32.
template <int kThreads>
__device__ unsigned lanes_of_group() {
  if constexpr (kThreads >= kWarp)
    return 0xffffffffU;
  else
    return ((1U << kThreads) - 1U) << (threadIdx.x % kWarp / kThreads * kThreads);
}

/// Combines one number of every thread of a group (see lanes_of_group) in a fixed order. Every thread gets the result.
template <int kThreads = kWarp, class T, class Combine>
__device__ T group_reduce(T number, Combine combine) {
  const unsigned lanes = lanes_of_group<kThreads>();
  for (int distance = kThreads / 2; distance > 0; distance /= 2)
    number = combine(number, __shfl_xor_sync(lanes, number, distance));
  return number;
}

/// Combines one number of every thread of a block in a fixed order. Every thread gets the result. The block consists of
/// whole warps, all of whose threads must call it. `none` is the neutral number.
template <class T, class Combine>
__device__ T block_reduce(T number, Combine combine, T none) {
  __shared__ T of_warps[kWarp];
  number = group_reduce(number, combine);
  // A warp may still be reading the numbers of the previous call.
  __syncthreads();
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = number;
  __syncthreads();
  number = threadIdx.x % kWarp < blockDim.x / kWarp ? of_warps[threadIdx.x % kWarp] : none;
  return group_reduce(number, combine);
}

/// The sum over a block, by block_reduce.
template <class T>
__device__ T block_sum(T number) {
  return block_reduce(number, Sum(), T(0));
}

}  // namespace troupe::cuda
