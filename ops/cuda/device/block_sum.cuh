#pragma once

#include <limits>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

// Operations that combine two numbers of a reduction. All are commutative, except for the sign of a zero and the bits
// of a NaN. kNone is the neutral number of the operation: combining a number with kNone gives that number.

struct Sum {
  static constexpr float kNone = 0.0F;
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// The larger number, or NaN if one of them is NaN.
struct Largest {
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
/// The smaller number, or NaN if one of them is NaN.
struct Smallest {
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

/// Returns the mask of the lanes in the calling thread's group, which consists of kThreads neighboring threads of a
/// warp. kThreads must be a power of two; from 32 on the group is the whole warp.
template <int kThreads>
__device__ unsigned lanes_of_group() {
  if constexpr (kThreads >= kWarp)
    return 0xffffffffU;
  else
    return ((1U << kThreads) - 1U) << (threadIdx.x % kWarp / kThreads * kThreads);
}

/// Combines one number of every thread of a group (see lanes_of_group) in a fixed order. All threads of the group must
/// make the call, and get the result.
template <int kThreads = kWarp, class T, class Combine>
__device__ T group_reduce(T number, Combine combine) {
  const unsigned lanes = lanes_of_group<kThreads>();
  for (int distance = kThreads / 2; distance > 0; distance /= 2)
    number = combine(number, __shfl_xor_sync(lanes, number, distance));
  return number;
}

/// Combines one number of every thread of a block in a fixed order. All threads of the block must make the call, and
/// get the result. The block must consist of whole warps. `none` is the neutral number of `combine`.
template <class T, class Combine>
__device__ T block_reduce(T number, Combine combine, T none) {
  __shared__ T of_warps[kWarp];
  number = group_reduce(number, combine);
  // Another warp may still be reading the numbers of the previous call from of_warps.
  __syncthreads();
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = number;
  __syncthreads();
  number = threadIdx.x % kWarp < blockDim.x / kWarp ? of_warps[threadIdx.x % kWarp] : none;
  return group_reduce(number, combine);
}

/// Returns the sum of one number of every thread of a block; see block_reduce().
template <class T>
__device__ T block_sum(T number) {
  return block_reduce(number, Sum(), T(0));
}

}  // namespace troupe::cuda
