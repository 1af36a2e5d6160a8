#include "troupe/ops/cpu/winograd_products.hpp"

#include <algorithm>
#include <cmath>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace troupe::cpu {

namespace {

/// The order in which the factors of a product lie in the blocks of a plane.
struct Order {
  /// The distance in floats between factors of one row, and between factors of one term.
  int row, term;
};
/// A row is a tile, and a term a channel.
constexpr Order kRowsAreTiles{kBlock, 1};
/// A row is a channel, and a term a tile.
constexpr Order kRowsAreChannels{1, kBlock};

/// sums [rows, columns] = the sum over `blocks` * `terms` terms of a [rows, term] * b [term, columns]. Columns lie in
/// vectors of 16. The steps are distances in floats.
struct Product {
  std::int64_t rows, columns, blocks, terms;
  /// 16 rows, and the blocks of terms, of a. Within them, the order tells the distances.
  const float* a;
  std::int64_t a_rows_step, a_block_step;
  /// The terms, across all blocks, and the vectors of b.
  const float* b;
  std::int64_t b_term_step, b_vector_step;
  /// The rows and the vectors of the sums.
  float* sums;
  std::int64_t sums_row_step, sums_vector_step;

  const float* factors(std::int64_t row, std::int64_t block, Order order) const {
    return a + row / kBlock * a_rows_step + row % kBlock * order.row + block * a_block_step;
  }
  const float* terms_of(std::int64_t column, std::int64_t block) const {
    return b + column / kBlock * b_vector_step + block * terms * b_term_step;
  }
  float* sums_of(std::int64_t row, std::int64_t column) const {
    return sums + row * sums_row_step + column / kBlock * sums_vector_step;
  }
};

/// Adds each term by std::fma().
template <Order order>
void compute_by_fma(const Product& p) {
  for (std::int64_t row = 0; row < p.rows; ++row)
    for (std::int64_t column = 0; column < p.columns; column += kBlock) {
      float sums[kBlock] = {};
      for (std::int64_t block = 0; block < p.blocks; ++block)
        for (std::int64_t k = 0; k < p.terms; ++k)
          for (std::int64_t i = 0; i < kBlock; ++i)
            sums[i] = std::fma(p.factors(row, block, order)[k * order.term],
                               p.terms_of(column, block)[k * p.b_term_step + i], sums[i]);
      std::copy_n(sums, kBlock, p.sums_of(row, column));
    }
}

#ifdef __x86_64__

// The vector versions are written with intrinsics: whether the compiler makes fused multiply-adds of products and sums
// depends on its version and on the level of optimization. A block of sums stays in registers.

/// Computes `height` rows of `width` vectors of sums.
template <Order order, int height, int width>
[[gnu::target("avx512f"), gnu::always_inline]] inline void compute_block_512(const Product& p, std::int64_t row,
                                                                             std::int64_t column) {
  __m512 sums[height][width];
  for (auto& vectors : sums)
    for (auto& vector : vectors) vector = _mm512_setzero_ps();
  for (std::int64_t block = 0; block < p.blocks; ++block) {
    const float *a = p.factors(row, block, order), *b = p.terms_of(column, block);
    for (std::int64_t k = 0; k < p.terms; ++k, a += order.term, b += p.b_term_step) {
      __m512 terms[width];
      for (int v = 0; v < width; ++v) terms[v] = _mm512_loadu_ps(b + v * p.b_vector_step);
#pragma GCC unroll 16
      for (int i = 0; i < height; ++i) {
        const __m512 factor = _mm512_set1_ps(a[i * order.row]);
#pragma GCC unroll 2
        for (int v = 0; v < width; ++v) sums[i][v] = _mm512_fmadd_ps(factor, terms[v], sums[i][v]);
      }
    }
  }
  float* const to = p.sums_of(row, column);
  for (int i = 0; i < height; ++i)
    for (int v = 0; v < width; ++v) _mm512_storeu_ps(to + i * p.sums_row_step + v * p.sums_vector_step, sums[i][v]);
}

template <Order order>
[[gnu::target("avx512f")]] void compute_512(const Product& p) {
  std::int64_t column = 0;
  for (; column + 2 * kBlock <= p.columns; column += 2 * kBlock)
    for (std::int64_t row = 0; row < p.rows; row += 8) compute_block_512<order, 8, 2>(p, row, column);
  if (column == p.columns) return;
  std::int64_t row = 0;
  for (; row + 16 <= p.rows; row += 16) compute_block_512<order, 16, 1>(p, row, column);
  if (row < p.rows) compute_block_512<order, 8, 1>(p, row, column);
}

/// Computes 4 rows of one vector of 16 sums: there are 16 registers of 256 bits.
template <Order order>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void compute_block_256(const Product& p, std::int64_t row,
                                                                              std::int64_t column) {
  constexpr int kHeight = 4;
  __m256 sums[kHeight][2];
  for (auto& vectors : sums)
    for (auto& vector : vectors) vector = _mm256_setzero_ps();
  for (std::int64_t block = 0; block < p.blocks; ++block) {
    const float *a = p.factors(row, block, order), *b = p.terms_of(column, block);
    for (std::int64_t k = 0; k < p.terms; ++k, a += order.term, b += p.b_term_step) {
      const __m256 first = _mm256_loadu_ps(b), second = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 4
      for (int i = 0; i < kHeight; ++i) {
        const __m256 factor = _mm256_set1_ps(a[i * order.row]);
        sums[i][0] = _mm256_fmadd_ps(factor, first, sums[i][0]);
        sums[i][1] = _mm256_fmadd_ps(factor, second, sums[i][1]);
      }
    }
  }
  for (int i = 0; i < kHeight; ++i)
    for (int v = 0; v < 2; ++v) _mm256_storeu_ps(p.sums_of(row + i, column) + 8 * v, sums[i][v]);
}

template <Order order>
[[gnu::target("avx2,fma")]] void compute_256(const Product& p) {
  for (std::int64_t column = 0; column < p.columns; column += kBlock)
    for (std::int64_t row = 0; row < p.rows; row += 4) compute_block_256<order>(p, row, column);
}

#endif

template <Order order>
void compute(const Product& p, [[maybe_unused]] ProductRegisters registers) {
#ifdef __x86_64__
  if (registers == ProductRegisters::bits512) return compute_512<order>(p);
  if (registers == ProductRegisters::bits256) return compute_256<order>(p);
#endif
  compute_by_fma<order>(p);
}

}  // namespace

bool has_registers(ProductRegisters registers) {
#ifdef __x86_64__
  if (registers == ProductRegisters::bits512) return __builtin_cpu_supports("avx512f") != 0;
  if (registers == ProductRegisters::bits256)
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#endif
  return registers == ProductRegisters::of_fma;
}

ProductRegisters widest_registers() {
  static const auto widest = has_registers(ProductRegisters::bits512)   ? ProductRegisters::bits512
                             : has_registers(ProductRegisters::bits256) ? ProductRegisters::bits256
                                                                        : ProductRegisters::of_fma;
  return widest;
}

void multiply_by_weights(std::int64_t tiles, std::int64_t channels, std::int64_t filters, const Planes& inputs,
                         const float* weights, const Planes& sums, ProductRegisters registers) {
  for (int plane = 0; plane < kPlanes; ++plane)
    compute<kRowsAreTiles>({.rows = tiles,
                            .columns = filters,
                            .blocks = channels / kBlock,
                            .terms = kBlock,
                            .a = inputs.data + plane * inputs.stride,
                            .a_rows_step = kBlock * kBlock,
                            .a_block_step = inputs.block,
                            .b = weights + plane * channels * filters,
                            .b_term_step = filters,
                            .b_vector_step = kBlock,
                            .sums = sums.data + plane * sums.stride,
                            .sums_row_step = kBlock,
                            .sums_vector_step = sums.block},
                           registers);
}

void multiply_over_tiles(std::int64_t tiles, std::int64_t channels, std::int64_t filters, const Planes& inputs,
                         const Planes& grads, float* sums, ProductRegisters registers) {
  for (int plane = 0; plane < kPlanes; ++plane)
    compute<kRowsAreChannels>({.rows = channels,
                               .columns = filters,
                               .blocks = 1,
                               .terms = tiles,
                               .a = inputs.data + plane * inputs.stride,
                               .a_rows_step = inputs.block,
                               .a_block_step = 0,
                               .b = grads.data + plane * grads.stride,
                               .b_term_step = kBlock,
                               .b_vector_step = grads.block,
                               .sums = sums + plane * channels * filters,
                               .sums_row_step = filters,
                               .sums_vector_step = kBlock},
                              registers);
}

}  // namespace troupe::cpu
