#include "troupe/ops/cuda/device/lanes.cuh"
#include "troupe/ops/cuda/product/narrow_product.cuh"
#include "troupe/ops/cuda/product/narrow_product.hpp"

namespace troupe::cuda {

namespace {

/// A block of small_product_kernel computes a tile of kSmallTile rows and columns of y. Each warp of the block computes
/// the whole tile over a share of the terms, kSmallTerms at a time; a thread of the warp computes kSmallRows rows and
/// kSmallColumns columns of the tile. Then the sums of the warps are added.
constexpr int kSmallTile = 16, kSmallTerms = 4, kSmallRows = 2, kSmallColumns = 4;
constexpr int kSmallWarps = kBlock / kWarp;

/// The sizes of y = a b: y is [m, n], a is [m, k] or, transposed, [k, m], and b is [k, n] or, transposed, [n, k]. m, n
/// and k must be multiples of four.
struct SmallSizes {
  std::int64_t m, n, k;
};

/// The memory layout of the factors a and b. Aligned factors are loaded four elements at a time.
template <bool kTransposedA, bool kTransposedB, bool kAligned>
struct SmallLayout {
  static constexpr bool transposed_a = kTransposedA, transposed_b = kTransposedB;

  static __device__ Lanes<float, 4> lanes_at(const float* numbers) {
    if constexpr (kAligned) {
      return *reinterpret_cast<const Lanes<float, 4>*>(numbers);
    } else {
      Lanes<float, 4> lanes;
      for (int i = 0; i < 4; ++i) lanes.elements[i] = numbers[i];
      return lanes;
    }
  }
};

/// The kSmallTile lines of a factor that a block needs, rows of a or columns of b, over a chunk of kChunk terms. The
/// threads of the block load a chunk to registers, and later store it to shared memory. With kLinesNext, neighboring
/// elements in memory are those of neighboring lines for one term; without it, those of neighboring terms of one line.
template <class Layout, bool kLinesNext, int kChunk>
class SmallLines {
 public:
  /// The threads of a warp with the same `group` multiply the same kCount lines of the tile. Returns the index in the
  /// tile of line i of these.
  template <int kCount>
  static __device__ int line_of_group(int group, int i) {
    // This order of lines lets the threads of a warp read from different banks of shared memory.
    return kLinesNext ? group * kCount + i : group + i * (kSmallTile / kCount);
  }

  /// Loads to registers the chunk that begins at line `first_line` and term `first` of a factor with `lines` lines of
  /// `terms` terms. Terms beyond the last are 0. Lines beyond the last are copies of the first lines; their sums are
  /// not stored.
  __device__ void load_chunk(const float* factor, std::int64_t lines, std::int64_t terms, std::int64_t first_line,
                             std::int64_t first) {
    for (int i = 0; i < kLoads; ++i) {
      const auto [line, term] = place(i);
      const auto from_line = first_line + line < lines ? first_line + line : 0;
      if (first + term >= terms)
        lanes_[i] = {};
      else
        lanes_[i] = Layout::lanes_at(
            factor + (kLinesNext ? (first + term) * lines + from_line : from_line * terms + first + term));
    }
  }
  __device__ void store_chunk(float* shared) const {
    for (int i = 0; i < kLoads; ++i) {
      const auto [line, term] = place(i);
      *lanes_of<float, 4>(shared + address(line, term)) = lanes_[i];
    }
  }
  /// Loads from shared memory kSmallTerms terms, from `term` on, of the kCount lines that the threads of `group`
  /// multiply.
  template <int kCount>
  static __device__ void take(const float* shared, int group, int term, float (&taken)[kCount][kSmallTerms]) {
    if constexpr (kLinesNext) {
      for (int k = 0; k < kSmallTerms; ++k) {
        const auto of_term = *lanes_of<float, kCount>(shared + address(line_of_group<kCount>(group, 0), term + k));
        for (int i = 0; i < kCount; ++i) taken[i][k] = of_term.elements[i];
      }
    } else {
      for (int i = 0; i < kCount; ++i) {
        const auto of_line = *lanes_of<float, kSmallTerms>(shared + address(line_of_group<kCount>(group, i), term));
        for (int k = 0; k < kSmallTerms; ++k) taken[i][k] = of_line.elements[k];
      }
    }
  }

  /// kPlaces is the shared memory of a chunk; kPitch is the distance between its terms with kLinesNext, else between
  /// its lines. Both are in elements.
  static constexpr int kPitch = (kLinesNext ? kSmallTile : kChunk) + 4;
  static constexpr int kPlaces = (kLinesNext ? kChunk : kSmallTile) * kPitch;

 private:
  static constexpr int kLoads = kSmallTile * kChunk / 4 / kBlock;
  /// The first of the four elements that a thread loads at once: its line in the tile and its term in the chunk.
  struct Place {
    int line, term;
  };

  static __device__ Place place(int i) {
    const int number = static_cast<int>(threadIdx.x) + i * kBlock;
    constexpr int kAcross = (kLinesNext ? kSmallTile : kChunk) / 4;
    const int along = number % kAcross * 4, other = number / kAcross;
    return kLinesNext ? Place{along, other} : Place{other, along};
  }
  static __device__ int address(int line, int term) { return kLinesNext ? term * kPitch + line : line * kPitch + term; }

  Lanes<float, 4> lanes_[kLoads];
};

template <class Layout, int kChunk>
__global__ void __launch_bounds__(kBlock)
    small_product_kernel(SmallSizes sizes, const float* a, const float* b, NarrowFinish<float> finish, float* y) {
  using Rows = SmallLines<Layout, Layout::transposed_a, kChunk>;
  using Columns = SmallLines<Layout, !Layout::transposed_b, kChunk>;
  constexpr int kSums = kSmallWarps * kSmallTile * kSmallTile;
  static_assert(kSums <= Rows::kPlaces + Columns::kPlaces);
  // Holds a chunk of both factors, and after the last chunk the sums of the warps.
  __shared__ Lanes<float, 4> memory[(Rows::kPlaces + Columns::kPlaces) / 4];
  auto* const shared = reinterpret_cast<float*>(memory);
  auto* const shared_columns = shared + Rows::kPlaces;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const auto first_row = static_cast<std::int64_t>(blockIdx.y) * kSmallTile,
             first_column = static_cast<std::int64_t>(blockIdx.x) * kSmallTile;
  Rows rows;
  Columns columns;
  rows.load_chunk(a, sizes.m, sizes.k, first_row, 0);
  columns.load_chunk(b, sizes.n, sizes.k, first_column, 0);
  const int of_row = thread / kSmallTile, of_column = thread % kSmallTile;
  const bool is_inside = first_row + of_row < sizes.m && first_column + of_column < sizes.n;
  const auto place = is_inside ? (first_row + of_row) * sizes.n + first_column + of_column : 0;
  const bool passes = finish.passes(place);
  constexpr int kAcross = kSmallTile / kSmallColumns;
  const int row_group = lane / kAcross, column_group = lane % kAcross;
  float sums[kSmallRows][kSmallColumns] = {};
  for (std::int64_t first = 0; first < sizes.k; first += kChunk) {
    rows.store_chunk(shared);
    columns.store_chunk(shared_columns);
    __syncthreads();
    // The loads of the next chunk overlap the multiplications below.
    if (first + kChunk < sizes.k) {
      rows.load_chunk(a, sizes.m, sizes.k, first_row, first + kChunk);
      columns.load_chunk(b, sizes.n, sizes.k, first_column, first + kChunk);
    }
    const auto left = sizes.k - first;
    for (int term = warp * kSmallTerms; term < kChunk && term < left; term += kSmallWarps * kSmallTerms) {
      float of_rows[kSmallRows][kSmallTerms], of_columns[kSmallColumns][kSmallTerms];
      Rows::take(shared, row_group, term, of_rows);
      Columns::take(shared_columns, column_group, term, of_columns);
      for (int k = 0; k < kSmallTerms; ++k)
        for (int i = 0; i < kSmallRows; ++i)
          for (int j = 0; j < kSmallColumns; ++j) sums[i][j] = fmaf(of_rows[i][k], of_columns[j][k], sums[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < kSmallRows; ++i)
    for (int j = 0; j < kSmallColumns; ++j)
      shared[(warp * kSmallTile + Rows::template line_of_group<kSmallRows>(row_group, i)) * kSmallTile +
             Columns::template line_of_group<kSmallColumns>(column_group, j)] = sums[i][j];
  __syncthreads();
  float sum = 0.0F;
  for (int other = 0; other < kSmallWarps; ++other)
    sum += shared[(other * kSmallTile + of_row) * kSmallTile + of_column];
  if (is_inside) y[place] = finish(sum, first_column + of_column, passes);
}

using SmallKernel = void (*)(SmallSizes, const float*, const float*, NarrowFinish<float>, float*);

template <bool kTransposedA, bool kTransposedB>
SmallKernel kernel_for(std::int64_t terms, bool aligned) {
  using Aligned = SmallLayout<kTransposedA, kTransposedB, true>;
  using Unaligned = SmallLayout<kTransposedA, kTransposedB, false>;
  constexpr int kFewTerms = 128, kManyTerms = 256;
  if (!aligned) return small_product_kernel<Unaligned, kManyTerms>;
  return terms <= kFewTerms ? small_product_kernel<Aligned, kFewTerms> : small_product_kernel<Aligned, kManyTerms>;
}

constexpr int kMultiple = 4;

}  // namespace

bool SmallProduct::suits(const ProductShape& shape) {
  const bool has_finish = shape.epilogue == Epilogue::none || shape.epilogue == Epilogue::bias || shape.has_relu();
  const bool is_float32 = shape.dtype == DType::float32 && shape.result == DType::float32;
  const bool has_lanes = shape.m % kMultiple == 0 && shape.n % kMultiple == 0 && shape.k % kMultiple == 0;
  // Above this number of multiplications, cuBLASLt is always faster.
  constexpr double kMaxWork = 1 << 26;
  return shape.is_plain() && has_finish && is_float32 && has_lanes && shape.multiplications() <= kMaxWork;
}

bool SmallProduct::is_surely_faster(const ProductShape& shape) {
  constexpr double kLittleWork = 1 << 22;
  return suits(shape) && shape.multiplications() <= kLittleWork;
}

void SmallProduct::run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
                       const void* relu_result) const {
  const auto *rows = static_cast<const float*>(a), *columns = static_cast<const float*>(b);
  const NarrowFinish<float> finish{static_cast<const float*>(bias), shape_.has_relu(),
                                   static_cast<const float*>(relu_result)};
  const bool aligned = begins_with_lanes<kMultiple>(rows) && begins_with_lanes<kMultiple>(columns);
  const auto find_kernel = shape_.transpose_a
                               ? (shape_.transpose_b ? kernel_for<true, true> : kernel_for<true, false>)
                               : (shape_.transpose_b ? kernel_for<false, true> : kernel_for<false, false>);
  const dim3 grid(static_cast<unsigned>(divided_up(shape_.n, kSmallTile)),
                  static_cast<unsigned>(divided_up(shape_.m, kSmallTile)));
  launch(where, grid, kBlock, find_kernel(shape_.k, aligned), SmallSizes{shape_.m, shape_.n, shape_.k}, rows, columns,
         finish, static_cast<float*>(y));
}

}  // namespace troupe::cuda
