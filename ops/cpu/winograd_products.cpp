#include "troupe/ops/cpu/winograd_products.hpp"

#include <algorithm>
#include <cmath>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace troupe::cpu {

namespace {

/// sums [rows, columns] = a [rows, depth] * b [depth, columns]. The rows and the columns of a are `row_of_a` and
/// `column_of_a` floats apart; the rows of b and of the sums follow each other.
struct Product {
  std::int64_t rows, depth, columns;
  const float* a;
  std::int64_t row_of_a, column_of_a;
  const float* b;
  float* sums;
};

/// Adds each term by std::fma().
void compute_by_fma(const Product& p) {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    float* const sums = p.sums + i * p.columns;
    std::fill_n(sums, p.columns, 0.0F);
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const float factor = p.a[i * p.row_of_a + k * p.column_of_a];
      const float* const terms = p.b + k * p.columns;
      for (std::int64_t j = 0; j < p.columns; ++j) sums[j] = std::fma(factor, terms[j], sums[j]);
    }
  }
}

#ifdef __x86_64__

// Both versions are written with intrinsics: whether the compiler makes fused multiply-adds of products and sums
// depends on its version and on the level of optimization. A block of sums stays in registers.

/// Computes kRowsOfProduct x (16 * width) sums from row i and column j on.
template <int width>
[[gnu::target("avx512f")]] void compute_block_512(const Product& p, std::int64_t i, std::int64_t j) {
  __m512 sums[kRowsOfProduct][width];
  for (auto& row : sums)
    for (auto& vector : row) vector = _mm512_setzero_ps();
  const float* const a = p.a + i * p.row_of_a;
  const float* const b = p.b + j;
  for (std::int64_t k = 0; k < p.depth; ++k) {
    __m512 terms[width];
    for (int v = 0; v < width; ++v) terms[v] = _mm512_loadu_ps(b + k * p.columns + 16 * v);
#pragma GCC unroll 8
    for (int row = 0; row < kRowsOfProduct; ++row) {
      const __m512 factor = _mm512_set1_ps(a[row * p.row_of_a + k * p.column_of_a]);
#pragma GCC unroll 2
      for (int v = 0; v < width; ++v) sums[row][v] = _mm512_fmadd_ps(factor, terms[v], sums[row][v]);
    }
  }
  for (int row = 0; row < kRowsOfProduct; ++row)
    for (int v = 0; v < width; ++v) _mm512_storeu_ps(p.sums + (i + row) * p.columns + j + 16 * v, sums[row][v]);
}

void compute_512(const Product& p) {
  std::int64_t j = 0;
  for (; j + 32 <= p.columns; j += 32)
    for (std::int64_t i = 0; i < p.rows; i += kRowsOfProduct) compute_block_512<2>(p, i, j);
  for (; j < p.columns; j += 16)
    for (std::int64_t i = 0; i < p.rows; i += kRowsOfProduct) compute_block_512<1>(p, i, j);
}

/// Half of kRowsOfProduct, because there are 16 registers of 256 bits and 32 of 512 bits.
constexpr std::int64_t kRowsOf256 = 4;

/// Computes kRowsOf256 x 16 sums from row i and column j on.
[[gnu::target("avx2,fma")]] void compute_block_256(const Product& p, std::int64_t i, std::int64_t j) {
  __m256 sums[kRowsOf256][2];
  for (auto& row : sums)
    for (auto& vector : row) vector = _mm256_setzero_ps();
  const float* const a = p.a + i * p.row_of_a;
  const float* const b = p.b + j;
  for (std::int64_t k = 0; k < p.depth; ++k) {
    const __m256 first = _mm256_loadu_ps(b + k * p.columns), second = _mm256_loadu_ps(b + k * p.columns + 8);
#pragma GCC unroll 4
    for (int row = 0; row < kRowsOf256; ++row) {
      const __m256 factor = _mm256_set1_ps(a[row * p.row_of_a + k * p.column_of_a]);
      sums[row][0] = _mm256_fmadd_ps(factor, first, sums[row][0]);
      sums[row][1] = _mm256_fmadd_ps(factor, second, sums[row][1]);
    }
  }
  for (int row = 0; row < kRowsOf256; ++row)
    for (int v = 0; v < 2; ++v) _mm256_storeu_ps(p.sums + (i + row) * p.columns + j + 8 * v, sums[row][v]);
}

void compute_256(const Product& p) {
  for (std::int64_t j = 0; j < p.columns; j += 16)
    for (std::int64_t i = 0; i < p.rows; i += kRowsOf256) compute_block_256(p, i, j);
}

#endif

void compute(const Product& p, [[maybe_unused]] ProductRegisters registers) {
#ifdef __x86_64__
  if (registers == ProductRegisters::bits512) return compute_512(p);
  if (registers == ProductRegisters::bits256) return compute_256(p);
#endif
  compute_by_fma(p);
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
    compute({tiles, channels, filters, inputs.data + plane * inputs.stride, channels, 1,
             weights + plane * channels * filters, sums.data + plane * sums.stride},
            registers);
}

void multiply_over_tiles(std::int64_t tiles, std::int64_t channels, std::int64_t filters, const Planes& inputs,
                         const Planes& grads, float* sums, ProductRegisters registers) {
  for (int plane = 0; plane < kPlanes; ++plane)
    compute({channels, tiles, filters, inputs.data + plane * inputs.stride, 1, channels,
             grads.data + plane * grads.stride, sums + plane * channels * filters},
            registers);
}

}  // namespace troupe::cpu
