#pragma once

#include "troupe/ops/cuda/device/block_sum.cuh"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// The factor b of y = a b. Its memory holds [k, n], or [n, k] if `transposed`.
template <class T>
struct NarrowFactor {
  const T* numbers;
  std::int64_t k, n;
  bool transposed;

  __device__ float at(std::int64_t term, std::int64_t column) const {
    return load(numbers, transposed ? column * k + term : term * n + column);
  }
};

/// The operations on a sum before it is stored as an element of y: adding a bias, a relu, and the gradient of another
/// relu.
template <class R>
struct NarrowFinish {
  const R* bias;  // or null
  bool relu;
  const R* relu_result;  // or null; where it is not above 0, the result is 0

  /// Whether the gradient of the relu passes element `place` of y; else the element is 0. True if there is no
  /// `relu_result`. Kernels call it before they compute the sum, so that the load overlaps the computation.
  __device__ bool passes(std::int64_t place) const {
    return relu_result == nullptr || load_constant(relu_result, place) > 0.0F;
  }
  __device__ float operator()(float sum, std::int64_t column, bool passing) const {
    const float with_bias = bias == nullptr ? sum : sum + load(bias, column);
    return !passing || (relu && with_bias < 0.0F) ? 0.0F : with_bias;
  }
};

/// The number of floats in the shared memory in which few_columns_kernel keeps b with its padding.
inline constexpr int kNarrowShared = 8192;

/// Returns element `term` of row `row` of a, which is [m, k]; 0 if `term` is k or more. Both cases load an element,
/// because a branch would keep the loads of a thread from overlapping.
template <class T>
__device__ float term_of_row(const T* a, std::int64_t row, int term, std::int64_t k) {
  const float number = load_constant(a, row * k + (term < k ? term : 0));
  return term < k ? number : 0.0F;
}

/// Adds up the numbers of kCount neighboring threads, each of which has kCount numbers, in a fixed order: thread i of
/// the warp gets the sum, over the kCount threads of its group, of their numbers with the index i % kCount. At each
/// step, half of the threads pass on the first half of their numbers, the others the second half.
template <int kCount>
__device__ float sums_of_neighbors(const float (&numbers)[kCount]) {
  constexpr int kHalf = kCount / 2;
  constexpr unsigned kAll = 0xffffffffU;
  const bool upper = (threadIdx.x & kHalf) != 0;
  float kept[kHalf];
  for (int i = 0; i < kHalf; ++i) {
    const float given = upper ? numbers[i] : numbers[kHalf + i];
    kept[i] = (upper ? numbers[kHalf + i] : numbers[i]) + __shfl_xor_sync(kAll, given, kHalf);
  }
  if constexpr (kHalf == 1)
    return kept[0];
  else
    return sums_of_neighbors(kept);
}

/// Computes y = finish(a b), where y is [m, n], a is [m, k] and n is at most kColumns. A warp computes a row of y; its
/// threads share the terms of the sums. Shared memory holds all of b, whose rows are padded with zeros to kColumns
/// elements and lie kColumns + 1 elements apart: the odd distance avoids bank conflicts.
template <int kColumns, class T, class R>
__global__ void __launch_bounds__(kBlock)
    few_columns_kernel(std::int64_t m, const T* a, NarrowFactor<T> b, NarrowFinish<R> finish, R* y) {
  __shared__ float factor[kNarrowShared];
  constexpr int kPlaces = kColumns + 1, kAtOnce = 4;
  const auto k = static_cast<int>(b.k);
  for (int i = static_cast<int>(threadIdx.x); i < k * kColumns; i += kBlock) {
    const int column = b.transposed ? i / k : i % kColumns, term = b.transposed ? i % k : i / kColumns;
    factor[term * kPlaces + column] = column < b.n ? b.at(term, column) : 0.0F;
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (auto row = first_element() / kWarp; row < m; row += element_stride() / kWarp) {
    const auto place = row * b.n + (lane < b.n ? lane : 0);
    const bool passes = finish.passes(place);
    float sums[kColumns] = {};
    for (int first = lane; first < k; first += kAtOnce * kWarp) {
      float x[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) x[i] = term_of_row(a, row, first + i * kWarp, k);
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * kWarp >= k) continue;
        for (int column = 0; column < kColumns; ++column)
          sums[column] = fmaf(x[i], factor[(first + i * kWarp) * kPlaces + column], sums[column]);
      }
    }
    float sum = sums_of_neighbors(sums);
    for (int distance = kColumns; distance < kWarp; distance *= 2) sum += __shfl_xor_sync(0xffffffffU, sum, distance);
    if (lane < b.n) store(y, place, finish(sum, lane, passes));
  }
}

/// The columns of y that a block of few_terms_kernel computes, and the rows that it computes at a time.
inline constexpr int kTermColumns = 64;
inline constexpr int kTermRows = kBlock / kTermColumns;

/// Computes kRows elements of column `column` of y: from row `row` on, `stride` rows apart. `factor` is column `column`
/// of b.
template <int kRows, int kTerms, class T, class R>
__device__ void few_terms_rows(const T* a, const NarrowFactor<T>& b, const float (&factor)[kTerms],
                               const NarrowFinish<R>& finish, std::int64_t row, std::int64_t stride,
                               std::int64_t column, R* y) {
  float sums[kRows] = {};
  bool passes[kRows];
  for (int i = 0; i < kRows; ++i) {
    passes[i] = finish.passes((row + i * stride) * b.n + column);
    for (int term = 0; term < kTerms; ++term)
      sums[i] = fmaf(term_of_row(a, row + i * stride, term, b.k), factor[term], sums[i]);
  }
  for (int i = 0; i < kRows; ++i) store(y, (row + i * stride) * b.n + column, finish(sums[i], column, passes[i]));
}

/// Computes y = finish(a b), where y is [m, n], a is [m, k] and k is at most kTerms. A thread computes elements of one
/// column of y, and keeps that column of b in registers.
template <int kTerms, class T, class R>
__global__ void __launch_bounds__(kBlock)
    few_terms_kernel(std::int64_t m, const T* a, NarrowFactor<T> b, NarrowFinish<R> finish, R* y) {
  const int thread = static_cast<int>(threadIdx.x), k = static_cast<int>(b.k);
  const auto column = static_cast<std::int64_t>(blockIdx.x) * kTermColumns + thread % kTermColumns;
  if (column >= b.n) return;
  float factor[kTerms];
  for (int term = 0; term < kTerms; ++term) factor[term] = term < k ? b.at(term, column) : 0.0F;
  constexpr int kMany = 4;
  const auto stride = static_cast<std::int64_t>(gridDim.y) * kTermRows;
  auto row = static_cast<std::int64_t>(blockIdx.y) * kTermRows + thread / kTermColumns;
  for (; row + (kMany - 1) * stride < m; row += kMany * stride)
    few_terms_rows<kMany>(a, b, factor, finish, row, stride, column, y);
  for (; row < m; row += stride) few_terms_rows<1>(a, b, factor, finish, row, stride, column, y);
}

/// The rows of y that a block of many_terms_kernel computes. Each row is computed by kBlock / kPartRows threads.
inline constexpr int kPartRows = 16;

/// Computes y, the product of the transposed a and b, where y is [m, n], a is [k, m], b is [k, n] and n is at most
/// kColumns, in parts: part blockIdx.y is the sum over terms_of_block of the k terms. `y` receives the parts one after
/// the other. kBlock / kPartRows threads compute a row of a part: each sums every 16th term, then the sums of these
/// threads are added in order.
template <int kColumns, class T, class R>
__global__ void __launch_bounds__(kBlock)
    many_terms_kernel(std::int64_t m, std::int64_t terms_of_block, const T* a, NarrowFactor<T> b, R* y) {
  constexpr int kThreads = kBlock / kPartRows;
  __shared__ float thread_sums[kThreads][kColumns][kPartRows];
  const int thread = static_cast<int>(threadIdx.x), row_of_block = thread % kPartRows, group = thread / kPartRows;
  const auto n = static_cast<int>(b.n);
  const auto row = static_cast<std::int64_t>(blockIdx.x) * kPartRows + row_of_block;
  const auto begin = static_cast<std::int64_t>(blockIdx.y) * terms_of_block;
  const auto end = begin + terms_of_block < b.k ? begin + terms_of_block : b.k;
  float sums[kColumns] = {};
  for (auto term = begin + group; term < end && row < m; term += kThreads) {
    const float x = load(a, term * m + row);
    // A sum beyond the last column is computed, but not stored.
    for (int column = 0; column < kColumns; ++column)
      sums[column] = fmaf(x, load_constant(b.numbers, term * n + (column < n ? column : 0)), sums[column]);
  }
  for (int column = 0; column < kColumns; ++column) thread_sums[group][column][row_of_block] = sums[column];
  __syncthreads();
  auto* part = y + static_cast<std::int64_t>(blockIdx.y) * m * n;
  for (int i = thread; i < kPartRows * n; i += kBlock) {
    const auto to = static_cast<std::int64_t>(blockIdx.x) * kPartRows + i / n;
    float sum = 0.0F;
    for (int of = 0; of < kThreads; ++of) sum += thread_sums[of][i % n][i / n];
    if (to < m) store(part, to * n + i % n, sum);
  }
}

/// y[i] = the sum, in order, of element i of all `parts` parts of `count` elements each.
template <class R>
struct SumParts {
  const float* numbers;
  std::int64_t count, parts;
  R* y;
  __device__ void operator()(std::int64_t i) const {
    float sum = numbers[i];
    for (std::int64_t part = 1; part < parts; ++part) sum += numbers[part * count + i];
    store(y, i, sum);
  }
};

}  // namespace troupe::cuda
