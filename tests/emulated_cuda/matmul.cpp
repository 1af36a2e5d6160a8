#include "troupe/tests/emulated_cuda/matmul.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "troupe/tests/emulated_cuda/epilogue.hpp"
#include "troupe/tests/emulated_cuda/matrix.hpp"

namespace emulated_cuda {

namespace {

constexpr std::size_t kTileRows = 4;
constexpr std::size_t kTileColumns = 16;

/// An operand as floats, in tiles of rows of A or columns of B. The layout is tile, k, position in the tile. Zeros fill
/// the last tile.
class PackedOperand {
 public:
  PackedOperand(std::size_t count, std::size_t k, std::size_t tile)
      : k_(k), tile_(tile), values_((count + tile - 1) / tile * tile * k) {}

  float& at(std::size_t index, std::size_t k) { return values_[(index / tile_ * k_ + k) * tile_ + index % tile_]; }
  const float* tile(std::size_t index, std::size_t k) const { return &values_[(index * k_ + k) * tile_]; }

 private:
  std::size_t k_;
  std::size_t tile_;
  std::vector<float> values_;
};

/// Rounds to TF32, which has 10 bits of fraction, to nearest with ties away from zero, as the device does.
float round_to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000) == 0x7f800000) return value;
  return std::bit_cast<float>((bits + 0x1000) & 0xffffe000);
}

float rounded(float value, cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return round_to_tf32(value);
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return __half(value);
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return __nv_bfloat16(value);
    default:
      return value;
  }
}

/// Packs a matrix. `at(index, k)` is the position of an element in it.
template <typename At>
PackedOperand pack(const void* matrix, cudaDataType_t type, const MatmulCall& call, std::size_t count, std::size_t tile,
                   At at) {
  const std::size_t k = call.shape.k;
  PackedOperand packed(count, k, tile);
  const bool descending = call.order == SumOrder::kDescending;
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t place = descending ? k - 1 - i : i;
    for (std::size_t j = 0; j < count; ++j) {
      packed.at(j, place) = rounded(load(matrix, type, at(j, i)), call.desc.compute);
    }
  }
  return packed;
}

PackedOperand pack_a(const MatmulCall& call, std::int32_t batch) {
  const bool transposed = call.desc.transpose_a != CUBLAS_OP_N;
  return pack(matrix_of(call.a, call.a_layout, batch), call.a_layout.type, call, call.shape.m, kTileRows,
              [&](std::size_t row, std::size_t k) {
                return transposed ? index_of(call.a_layout, k, row) : index_of(call.a_layout, row, k);
              });
}

PackedOperand pack_b(const MatmulCall& call, std::int32_t batch) {
  const bool transposed = call.desc.transpose_b != CUBLAS_OP_N;
  return pack(matrix_of(call.b, call.b_layout, batch), call.b_layout.type, call, call.shape.n, kTileColumns,
              [&](std::size_t column, std::size_t k) {
                return transposed ? index_of(call.b_layout, column, k) : index_of(call.b_layout, k, column);
              });
}

using Lanes = float __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;
constexpr std::size_t kVectors = kTileColumns / kLanes;

/// Computes one tile of the product, summed over `count` values of k, one after another.
void multiply_tile(const float* a, const float* b, std::size_t count, float (&out)[kTileRows][kTileColumns]) {
  Lanes sums[kTileRows][kVectors] = {};
  for (std::size_t k = 0; k < count; ++k, a += kTileRows, b += kTileColumns) {
    Lanes row[kVectors];
    std::memcpy(row, b, sizeof row);
    for (std::size_t i = 0; i < kTileRows; ++i) {
      const Lanes factor = {a[i], a[i], a[i], a[i]};
      for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] += factor * row[v];
    }
  }
  std::memcpy(out, sums, sizeof out);
}

/// Computes the product, m x n row by row, summed over k from begin to end.
void multiply(const PackedOperand& a, const PackedOperand& b, const MatmulShape& shape, std::size_t begin,
              std::size_t end, float* out) {
  float tile[kTileRows][kTileColumns];
  for (std::size_t column = 0; column < shape.n; column += kTileColumns) {
    const std::size_t columns = std::min(kTileColumns, shape.n - column);
    for (std::size_t row = 0; row < shape.m; row += kTileRows) {
      multiply_tile(a.tile(row / kTileRows, begin), b.tile(column / kTileColumns, begin), end - begin, tile);
      for (std::size_t i = 0; i < std::min(kTileRows, shape.m - row); ++i) {
        std::copy_n(tile[i], columns, out + (row + i) * shape.n + column);
      }
    }
  }
}

}  // namespace

void run_matmul(const MatmulCall& call) {
  const MatmulShape& shape = call.shape;
  std::vector<float> product(shape.m * shape.n);
  for (std::int32_t batch = 0; batch < call.d_layout.batch_count; ++batch) {
    const PackedOperand a = pack_a(call, batch), b = pack_b(call, batch);
    if (call.order == SumOrder::kHalves) {
      multiply(a, b, shape, 0, shape.k / 2, call.workspace);
      multiply(a, b, shape, shape.k / 2, shape.k, product.data());
      for (std::size_t i = 0; i < product.size(); ++i) product[i] += call.workspace[i];
    } else {
      multiply(a, b, shape, 0, shape.k, product.data());
    }
    apply_epilogue(call, batch, product.data());
    write_operand_gradient(call, batch);
  }
}

}  // namespace emulated_cuda
