#pragma once

#include "troupe/ops/cuda/device/block_sum.cuh"

namespace troupe::cuda {

/// The threads that compute one row together: a part of a warp, a warp or a block.
template <int kThreads>
struct RowThreads {
  static constexpr int kCount = kThreads;

  /// The index of the calling thread among the threads of its row.
  __device__ int lane() const { return static_cast<int>(threadIdx.x) % kThreads; }
  /// Combines one number of each thread of the row in a fixed order. All threads of the row must make the call, and get
  /// the result. `none` is the neutral number of `combine`.
  template <class T, class Combine>
  __device__ T reduce(T number, Combine combine, T none) const {
    if constexpr (kThreads > kWarp)
      return block_reduce(number, combine, none);
    else
      return group_reduce<kThreads>(number, combine);
  }
  template <class Combine>
  __device__ float reduce(float number, Combine combine) const {
    return reduce(number, combine, Combine::kNone);
  }
  template <class T>
  __device__ T sum(T number) const {
    return reduce(number, Sum(), T(0));
  }
  /// Waits for all threads of the row. Afterwards each of them can read what the others have written before.
  __device__ void meet() const {
    if constexpr (kThreads > kWarp)
      __syncthreads();
    else
      __syncwarp(lanes_of_group<kThreads>());
  }
};

template <int kThreads, class Function>
__global__ void __launch_bounds__(kBlock) rows_kernel(std::int64_t rows, Function function) {
  const auto stride = static_cast<std::int64_t>(gridDim.x) * (kBlock / kThreads);
  for (auto row = first_element() / kThreads; row < rows; row += stride) function(RowThreads<kThreads>(), row);
}

template <int kThreads, class Function>
void for_each_row_by(const Launch& where, std::int64_t rows, const Function& function) {
  if (rows > 0) launch(where, blocks_for(rows * kThreads), kBlock, rows_kernel<kThreads, Function>, rows, function);
}

/// Calls function(threads, row) on the device for every row, in any order. `threads` is a RowThreads of 8 threads, a
/// warp or a block, chosen by the number of rows and by `width`, the number of elements of a row. Each of these threads
/// makes the call.
template <class Function>
void for_each_row(const Launch& where, std::int64_t rows, std::int64_t width, const Function& function) {
  constexpr std::int64_t kFewElements = 16, kManyElements = 2048, kFewRows = 1024;
  if (width <= kFewElements)
    for_each_row_by<8>(where, rows, function);
  else if (width <= kBlock || (width <= kManyElements && rows >= kFewRows))
    for_each_row_by<kWarp>(where, rows, function);
  else
    for_each_row_by<kBlock>(where, rows, function);
}

}  // namespace troupe::cuda
