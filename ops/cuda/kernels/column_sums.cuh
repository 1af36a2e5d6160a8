#pragma once

#include <algorithm>

#include "troupe/ops/cuda/device/block_sum.cuh"
#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

/// The division of a matrix [rows, columns] among the blocks of a grid. A block has `rows_of_block` rows of `lanes`
/// columns; `lanes` is a power of two up to 32. blockIdx.x is the number of the block's group of columns, and
/// blockIdx.y that of its group of rows.
struct ColumnTiles {
  std::int64_t rows, columns, rows_of_block;
  int lanes;
};

/// The number of rows whose terms a thread loads together: Terms::kRowsAtOnce if it exists, else 4. Terms is the type
/// of a terms function; see column_kernel.
template <class Terms>
inline constexpr int kRowsAtOnce = 4;
template <class Terms>
requires requires {
  Terms::kRowsAtOnce;
}
inline constexpr int kRowsAtOnce<Terms> = Terms::kRowsAtOnce;

/// Combines the terms of kRows rows, `side` rows apart, with `combined`. If the terms function has a member keep(row,
/// column, numbers), which may store values, calls keep() for these rows after the terms of all of them have been
/// loaded, so that loads neither wait for stores nor read stored values.
template <int kRows, int kSums, class Terms, class Combine>
__device__ void take_rows(const Terms& terms, Combine combine, std::int64_t row, int side, std::int64_t column,
                          float (&combined)[kSums]) {
  float numbers[kRows][kSums];
  for (int i = 0; i < kRows; ++i) terms(row + i * side, column, numbers[i]);
  if constexpr (requires { terms.keep(row, column, numbers[0]); })
    for (int i = 0; i < kRows; ++i) terms.keep(row + i * side, column, numbers[i]);
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kSums; ++k) combined[k] = combine(combined[k], numbers[i][k]);
}

/// Combines the numbers of each column over the rows of a block. terms(row, column, numbers) sets the kSums numbers of
/// an element; finish(group of rows, column, combined) receives the combined numbers of a column.
template <int kSums, class Combine, class Terms, class Finish>
__global__ void __launch_bounds__(kBlock) column_kernel(ColumnTiles tiles, Terms terms, Finish finish) {
  __shared__ float results[kSums][kBlock];
  const Combine combine{};
  const int thread = static_cast<int>(threadIdx.x), side = kBlock / tiles.lanes;
  const auto column = static_cast<std::int64_t>(blockIdx.x) * tiles.lanes + thread % tiles.lanes;
  const auto begin = static_cast<std::int64_t>(blockIdx.y) * tiles.rows_of_block;
  const auto end = begin + tiles.rows_of_block < tiles.rows ? begin + tiles.rows_of_block : tiles.rows;
  float combined[kSums];
  for (int k = 0; k < kSums; ++k) combined[k] = Combine::kNone;
  if (column < tiles.columns) {
    auto row = begin + thread / tiles.lanes;
    // Takes several rows at a time, so that their loads overlap.
    constexpr int kMany = kRowsAtOnce<Terms>;
    for (; row + (kMany - 1) * side < end; row += kMany * side)
      take_rows<kMany>(terms, combine, row, side, column, combined);
    for (; row + 3 * side < end; row += 4 * side) take_rows<4>(terms, combine, row, side, column, combined);
    for (; row < end; row += side) take_rows<1>(terms, combine, row, side, column, combined);
  }
  for (int k = 0; k < kSums; ++k) results[k][thread] = combined[k];
  for (int half = side / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half * tiles.lanes)
      for (int k = 0; k < kSums; ++k)
        results[k][thread] = combine(results[k][thread], results[k][thread + half * tiles.lanes]);
  }
  for (int k = 0; k < kSums; ++k) combined[k] = results[k][thread];
  if (thread < tiles.lanes && column < tiles.columns) finish(static_cast<std::int64_t>(blockIdx.y), column, combined);
}

/// The combined numbers of each group of rows, in scratch memory between the two stages of ColumnSums: an array
/// [groups, kSums, columns].
template <int kSums>
struct ColumnParts {
  float* numbers;
  std::int64_t columns;

  __device__ float& at(std::int64_t group, int k, std::int64_t column) const {
    return numbers[(group * kSums + k) * columns + column];
  }
  /// The finish function of the first stage: stores the combined numbers of a group of rows.
  __device__ void operator()(std::int64_t group, std::int64_t column, const float (&combined)[kSums]) const {
    for (int k = 0; k < kSums; ++k) at(group, k, column) = combined[k];
  }
};
/// The terms function of the second stage: loads the combined numbers of a group of rows.
template <int kSums>
struct ColumnPartTerms {
  ColumnParts<kSums> parts;
  __device__ void operator()(std::int64_t group, std::int64_t column, float (&numbers)[kSums]) const {
    for (int k = 0; k < kSums; ++k) numbers[k] = parts.at(group, k, column);
  }
};
/// The finish function of the last stage, which has one group of rows: calls the finish function of the caller of
/// ColumnSums::run(), which does not take the group.
template <int kSums, class Finish>
struct ColumnFinish {
  Finish finish;
  __device__ void operator()(std::int64_t, std::int64_t column, const float (&combined)[kSums]) const {
    finish(column, combined);
  }
};

/// Combines kSums numbers of every element of a matrix [rows, columns] over its rows, for each column, always in the
/// same order. For a tall matrix a first stage combines groups of rows, and a second stage combines the groups.
template <int kSums = 1, class Combine = Sum>
class ColumnSums {
 public:
  ColumnSums(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {
    constexpr std::int64_t kBlocksWanted = 264, kRowsOfThread = 16;
    // With few rows, a block has only kFewLanes columns, which one memory access of 32 bytes covers. So there are more
    // blocks, and a block has enough threads to combine all rows in one stage.
    constexpr int kFewLanes = 8;
    const int max_lanes = rows <= kRowsOfThread * (kBlock / kFewLanes) ? kFewLanes : kWarp;
    while (lanes_ < max_lanes && lanes_ < columns) lanes_ *= 2;
    const auto side = kBlock / lanes_;
    const auto groups =
        std::min(divided_up(rows, kRowsOfThread * side), std::max<std::int64_t>(1, kBlocksWanted / column_blocks()));
    rows_of_block_ = std::max<std::int64_t>(1, divided_up(rows, std::max<std::int64_t>(1, groups)));
    groups_ = std::max<std::int64_t>(1, divided_up(rows, rows_of_block_));
  }

  std::size_t scratch_bytes() const {
    return groups_ == 1 ? 0 : static_cast<std::size_t>(groups_ * kSums * columns_) * sizeof(float);
  }

  /// On the device, terms(row, column, numbers) must set the float numbers[kSums] of an element, and finish(column,
  /// combined) receives the combined numbers of a column. `scratch` must have scratch_bytes() bytes.
  template <class Terms, class Finish>
  void run(const Launch& where, std::byte* scratch, const Terms& terms, const Finish& finish) const {
    const ColumnFinish<kSums, Finish> last{finish};
    const ColumnParts<kSums> parts{reinterpret_cast<float*>(scratch), columns_};
    if (groups_ == 1) return stage(where, {rows_, columns_, rows_, lanes_}, 1, terms, last);
    stage(where, {rows_, columns_, rows_of_block_, lanes_}, groups_, terms, parts);
    stage(where, {groups_, columns_, groups_, lanes_}, 1, ColumnPartTerms<kSums>{parts}, last);
  }

 private:
  std::int64_t column_blocks() const { return divided_up(columns_, lanes_); }

  template <class Terms, class Finish>
  void stage(const Launch& where, const ColumnTiles& tiles, std::int64_t groups, const Terms& terms,
             const Finish& finish) const {
    const dim3 grid(static_cast<unsigned>(column_blocks()), static_cast<unsigned>(groups));
    launch(where, grid, kBlock, column_kernel<kSums, Combine, Terms, Finish>, tiles, terms, finish);
  }

  std::int64_t rows_, columns_, rows_of_block_ = 1, groups_ = 1;
  int lanes_ = 1;
};

/// The terms function of ColumnSums that loads the elements of a row-major matrix.
template <class T>
struct ElementTerms {
  static constexpr int kRowsAtOnce = 16;
  const T* x;
  std::int64_t columns;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
    numbers[0] = load(x, row * columns + column);
  }
};
/// The finish function of ColumnSums that stores combined number k of a column as element [k, column] of y.
template <int kSums = 1>
struct StoreColumn {
  float* y;
  std::int64_t columns;
  __device__ void operator()(std::int64_t column, const float (&combined)[kSums]) const {
    for (int k = 0; k < kSums; ++k) y[k * columns + column] = combined[k];
  }
};

}  // namespace troupe::cuda
