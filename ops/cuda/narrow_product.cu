#include <algorithm>

#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/narrow_product.cuh"
#include "troupe/ops/cuda/narrow_product.hpp"

namespace troupe::cuda {

namespace {

/// Terms that a block sums at least, if there are so many, and parts at most.
constexpr std::int64_t kLeastTerms = 256, kMostParts = 64;
/// Blocks that a launch needs at most.
constexpr std::int64_t kBlocksWanted = 528;

/// The number of columns that kernels are made for.
std::int64_t padded(std::int64_t columns) {
  std::int64_t size = 4;
  while (size < columns) size *= 2;
  return size;
}

double multiplications(const ProductShape& shape) {
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

NarrowProduct::Kind NarrowProduct::kind_of(const ProductShape& shape) {
  const bool is_plain = shape.dtype == DType::float32 && shape.batch == 1 && !shape.adds && shape.factor == 1.0F &&
                        shape.ld_a == 0 && shape.ld_b == 0 && shape.ld_y == 0;
  // Beyond that cuBLASLt is surely faster.
  constexpr double kMostWork = 1 << 28;
  if (!is_plain || multiplications(shape) > kMostWork) return Kind::none;
  if (shape.transpose_a) {
    const bool fits = shape.n <= kMostColumns && !shape.transpose_b && shape.epilogue == Epilogue::none;
    return fits ? Kind::many_terms : Kind::none;
  }
  if (shape.n <= kMostColumns && shape.k * (padded(shape.n) + 1) <= kNarrowShared) return Kind::few_columns;
  return shape.k <= kMostColumns ? Kind::few_terms : Kind::none;
}

bool NarrowProduct::suits(const ProductShape& shape) {
  return kind_of(shape) != Kind::none;
}

bool NarrowProduct::is_surely_faster(const ProductShape& shape) {
  constexpr double kLittleWork = 1 << 23;
  return multiplications(shape) <= kLittleWork;
}

NarrowProduct::NarrowProduct(const ProductShape& shape)
    : kind_(kind_of(shape)),
      m_(shape.m),
      n_(shape.n),
      k_(shape.k),
      transpose_b_(shape.transpose_b),
      relu_(shape.epilogue == Epilogue::relu || shape.epilogue == Epilogue::relu_bias) {
  if (kind_ != Kind::many_terms) return;
  terms_of_block_ = std::max(kLeastTerms, divided_up(k_, kMostParts));
  parts_ = divided_up(k_, terms_of_block_);
}

std::size_t NarrowProduct::scratch_bytes() const {
  return parts_ == 1 ? 0 : MemoryPool::rounded(static_cast<std::size_t>(parts_ * m_ * n_) * sizeof(float));
}

template <int kColumns>
void NarrowProduct::run_padded(const Launch& where, const float* a, const float* b, const float* bias, float* y) const {
  const NarrowFactor factor{b, k_, n_, transpose_b_};
  const NarrowFinish finish{bias, relu_};
  if (kind_ == Kind::few_columns) {
    const auto blocks = std::min(divided_up(m_, kBlock / kWarp), kBlocksWanted);
    launch(where, static_cast<unsigned>(blocks), kBlock, few_columns_kernel<kColumns>, m_, a, factor, finish, y);
  } else if (kind_ == Kind::few_terms) {
    const auto columns = divided_up(n_, kTermColumns);
    const auto rows = std::clamp<std::int64_t>(kBlocksWanted / columns, 1, divided_up(m_, kTermRows));
    launch(where, dim3(static_cast<unsigned>(columns), static_cast<unsigned>(rows)), kBlock, few_terms_kernel<kColumns>,
           m_, a, factor, finish, y);
  } else {
    auto* parts = parts_ == 1 ? y : reinterpret_cast<float*>(where.scratch);
    const dim3 grid(static_cast<unsigned>(divided_up(m_, kPartRows)), static_cast<unsigned>(parts_));
    launch(where, grid, kBlock, many_terms_kernel<kColumns>, m_, terms_of_block_, a, factor, parts);
    if (parts_ > 1) for_each(where, m_ * n_, SumParts{parts, m_ * n_, parts_, y});
  }
}

void NarrowProduct::run(const Launch& where, const float* a, const float* b, const float* bias, float* y) const {
  switch (padded(kind_ == Kind::few_terms ? k_ : n_)) {
    case 4:
      return run_padded<4>(where, a, b, bias, y);
    case 8:
      return run_padded<8>(where, a, b, bias, y);
    case 16:
      return run_padded<16>(where, a, b, bias, y);
    default:
      return run_padded<32>(where, a, b, bias, y);
  }
}

}  // namespace troupe::cuda
