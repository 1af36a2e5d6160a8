#pragma once

#include "troupe/ops/cuda/lanes.cuh"
#include "troupe/ops/cuda/narrow_product.cuh"

namespace troupe::cuda {

/// Rows and columns of y that a block of small_product_kernel computes. Each warp computes all of them over terms of
/// its own, four at a time; a thread has two rows and four columns.
inline constexpr int kSmallTile = 16, kSmallTerms = 4, kSmallRows = 2, kSmallColumns = 4;
inline constexpr int kSmallWarps = kBlock / kWarp;

/// y [m, n] = a b, where a is [m, k] or transposed [k, m], b is [k, n] or transposed [n, k].
struct SmallSizes {
  std::int64_t m, n, k;
};

/// How factors lie in memory. Aligned ones are loaded several elements at a time.
template <bool kTransposedA, bool kTransposedB, bool kAligned>
struct SmallLayout {
  static constexpr bool transposed_a = kTransposedA, transposed_b = kTransposedB;

  template <int kCount>
  static __device__ Lanes<float, kCount> lanes_at(const float* numbers) {
    if constexpr (kAligned) {
      return *reinterpret_cast<const Lanes<float, kCount>*>(numbers);
    } else {
      Lanes<float, kCount> lanes;
      for (int i = 0; i < kCount; ++i) lanes.elements[i] = numbers[i];
      return lanes;
    }
  }
};

/// What a thread multiplies at once: rows of a and columns of b, from `first` term on. All sizes are multiples of four.
/// Threads beyond the last row or column read others.
template <class Layout>
struct SmallFactors {
  float rows[kSmallRows][kSmallTerms], columns[kSmallColumns][kSmallTerms];

  __device__ void load_all(const SmallSizes& sizes, const float* a, const float* b, std::int64_t row,
                           std::int64_t column, std::int64_t first) {
    load_lines<Layout::transposed_a>(rows, a, sizes.m, sizes.k, row < sizes.m ? row : 0, first);
    load_lines<!Layout::transposed_b>(columns, b, sizes.n, sizes.k, column < sizes.n ? column : 0, first);
  }
  __device__ void add_products(float (&sums)[kSmallRows][kSmallColumns]) const {
    for (int term = 0; term < kSmallTerms; ++term)
      for (int row = 0; row < kSmallRows; ++row)
        for (int column = 0; column < kSmallColumns; ++column)
          sums[row][column] = fmaf(rows[row][term], columns[column][term], sums[row][column]);
  }

 private:
  /// Of a factor that has so many lines of so many terms; kLinesNext says that those of a term lie next to each other.
  template <bool kLinesNext, int kLines>
  static __device__ void load_lines(float (&loaded)[kLines][kSmallTerms], const float* factor, std::int64_t lines,
                                    std::int64_t terms, std::int64_t line, std::int64_t first) {
    if constexpr (kLinesNext) {
      for (int term = 0; term < kSmallTerms; ++term) {
        const auto of_term = Layout::template lanes_at<kLines>(factor + (first + term) * lines + line);
        for (int i = 0; i < kLines; ++i) loaded[i][term] = of_term.elements[i];
      }
    } else {
      for (int i = 0; i < kLines; ++i) {
        const auto of_line = Layout::template lanes_at<kSmallTerms>(factor + (line + i) * terms + first);
        for (int term = 0; term < kSmallTerms; ++term) loaded[i][term] = of_line.elements[term];
      }
    }
  }
};

/// Takes in kCount times four terms, each `stride` behind the ones before.
template <int kCount, class Layout>
__device__ void take_terms(const SmallSizes& sizes, const float* a, const float* b, std::int64_t row,
                           std::int64_t column, std::int64_t first, int stride,
                           float (&sums)[kSmallRows][kSmallColumns]) {
  // All loads wait together.
  SmallFactors<Layout> factors[kCount];
  for (int i = 0; i < kCount; ++i) factors[i].load_all(sizes, a, b, row, column, first + i * stride);
  for (int i = 0; i < kCount; ++i) factors[i].add_products(sums);
}

template <class Layout>
__global__ void __launch_bounds__(kBlock)
    small_product_kernel(SmallSizes sizes, const float* a, const float* b, NarrowFinish<float> finish, float* y) {
  __shared__ float found[kSmallWarps][kSmallTile][kSmallTile];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  constexpr int kAcross = kSmallTile / kSmallColumns;
  const int own_row = lane / kAcross * kSmallRows, own_column = lane % kAcross * kSmallColumns;
  const auto first_row = static_cast<std::int64_t>(blockIdx.y) * kSmallTile,
             first_column = static_cast<std::int64_t>(blockIdx.x) * kSmallTile;
  const auto row = first_row + own_row, column = first_column + own_column;
  float sums[kSmallRows][kSmallColumns] = {};
  constexpr int kStride = kSmallWarps * kSmallTerms, kMany = 4;
  std::int64_t term = warp * kSmallTerms;
  for (; term + (kMany - 1) * kStride < sizes.k; term += kMany * kStride)
    take_terms<kMany, Layout>(sizes, a, b, row, column, term, kStride, sums);
  for (; term < sizes.k; term += kStride) take_terms<1, Layout>(sizes, a, b, row, column, term, kStride, sums);
  for (int i = 0; i < kSmallRows; ++i)
    for (int j = 0; j < kSmallColumns; ++j) found[warp][own_row + i][own_column + j] = sums[i][j];
  __syncthreads();
  const int of_row = thread / kSmallTile, of_column = thread % kSmallTile;
  float sum = 0.0F;
  for (int other = 0; other < kSmallWarps; ++other) sum += found[other][of_row][of_column];
  if (first_row + of_row < sizes.m && first_column + of_column < sizes.n)
    y[(first_row + of_row) * sizes.n + first_column + of_column] = finish(sum, first_column + of_column);
}

}  // namespace troupe::cuda
