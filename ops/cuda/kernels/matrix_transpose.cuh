#pragma once

#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

/// y [columns, rows] = x [rows, columns]', a tile of 32 rows and columns at a time.
template <class T, class R>
__global__ void __launch_bounds__(kBlock)
    transpose_matrix_kernel(std::int64_t rows, std::int64_t columns, const T* x, R* y) {
  __shared__ T tile[kWarp][kWarp + 1];
  constexpr int kRows = kBlock / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, first = static_cast<int>(threadIdx.x) / kWarp;
  const auto top = static_cast<std::int64_t>(blockIdx.x) * kWarp, left = static_cast<std::int64_t>(blockIdx.y) * kWarp;
  for (int i = first; i < kWarp; i += kRows)
    if (top + i < rows && left + lane < columns) tile[i][lane] = x[(top + i) * columns + left + lane];
  __syncthreads();
  for (int i = first; i < kWarp; i += kRows)
    if (left + i < columns && top + lane < rows) store(y, (left + i) * rows + top + lane, load(tile[lane], i));
}

/// Launches transpose_matrix_kernel. There must be less than 2 million columns.
template <class T, class R>
void transpose_matrix(const Launch& where, std::int64_t rows, std::int64_t columns, const T* x, R* y) {
  const auto tiles = [](std::int64_t size) { return static_cast<unsigned>((size + kWarp - 1) / kWarp); };
  launch(where, dim3(tiles(rows), tiles(columns)), kBlock, transpose_matrix_kernel<T, R>, rows, columns, x, y);
}

}  // namespace troupe::cuda
