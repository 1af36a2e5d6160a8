#include <algorithm>
#include <type_traits>

#include "troupe/ops/cuda/product/narrow_product.cuh"
#include "troupe/ops/cuda/product/narrow_product.hpp"

namespace troupe::cuda {

namespace {

/// For Kind::many_terms: the terms of a sum are divided into at most kMaxParts parts of equal length, at least
/// kMinTerms terms; the last part may be shorter. A block adds up the terms of one part.
constexpr std::int64_t kMinTerms = 256, kMaxParts = 64;
/// The most blocks with which few_columns_kernel and few_terms_kernel are launched, enough to occupy a large GPU; a
/// block computes as many rows as this requires. Only few_terms_kernel may have more blocks: it has at least one for
/// each kTermColumns columns of y.
constexpr std::int64_t kBlocksOfLaunch = 528;

/// Returns the smallest number that is not below `columns` and for which kernels are compiled: a power of two, at least
/// 4.
std::int64_t padded(std::int64_t columns) {
  std::int64_t size = 4;
  while (size < columns) size *= 2;
  return size;
}

/// Calls f with padded(columns) as a std::integral_constant. `columns` must be at most NarrowProduct::kMaxColumns.
template <int kColumns = 4, class F>
void with_padded(std::int64_t columns, F f) {
  if constexpr (kColumns < NarrowProduct::kMaxColumns)
    if (columns > kColumns) return with_padded<2 * kColumns>(columns, f);
  f(std::integral_constant<int, kColumns>());
}

}  // namespace

NarrowProduct::Kind NarrowProduct::kind_of(const ProductShape& shape) {
  // Above this number of multiplications, cuBLASLt is always faster.
  constexpr double kMaxWork = 1 << 28;
  if (!shape.is_plain() || shape.multiplications() > kMaxWork) return Kind::none;
  if (shape.transpose_a) {
    const bool fits = shape.n <= kMaxColumns && !shape.transpose_b && shape.epilogue == Epilogue::none;
    return fits ? Kind::many_terms : Kind::none;
  }
  if (shape.n <= kMaxColumns && shape.k * (padded(shape.n) + 1) <= kNarrowShared) return Kind::few_columns;
  return shape.k <= kMaxColumns ? Kind::few_terms : Kind::none;
}

bool NarrowProduct::suits(const ProductShape& shape) {
  return kind_of(shape) != Kind::none;
}

bool NarrowProduct::is_surely_faster(const ProductShape& shape) {
  constexpr double kLittleWork = 1 << 23;
  return suits(shape) && shape.multiplications() <= kLittleWork;
}

NarrowProduct::NarrowProduct(const ProductShape& shape) : shape_(shape), kind_(kind_of(shape)) {
  if (kind_ != Kind::many_terms) return;
  terms_of_block_ = std::max(kMinTerms, divided_up(shape.k, kMaxParts));
  parts_ = divided_up(shape.k, terms_of_block_);
}

std::size_t NarrowProduct::scratch_bytes() const {
  return parts_ == 1 ? 0 : scratch_bytes_of<float>(parts_ * shape_.m * shape_.n);
}

template <int kColumns, class T, class R>
void NarrowProduct::run_padded(const Launch& where, const T* a, const T* b, const NarrowFinish<R>& finish, R* y) const {
  const auto m = shape_.m, n = shape_.n;
  const NarrowFactor<T> factor{b, shape_.k, n, shape_.transpose_b};
  if (kind_ == Kind::few_columns) {
    const auto blocks = std::min(divided_up(m, kBlock / kWarp), kBlocksOfLaunch);
    launch(where, static_cast<unsigned>(blocks), kBlock, few_columns_kernel<kColumns, T, R>, m, a, factor, finish, y);
  } else if (kind_ == Kind::few_terms) {
    const auto columns = divided_up(n, kTermColumns);
    const auto rows = std::clamp<std::int64_t>(kBlocksOfLaunch / columns, 1, divided_up(m, kTermRows));
    launch(where, dim3(static_cast<unsigned>(columns), static_cast<unsigned>(rows)), kBlock,
           few_terms_kernel<kColumns, T, R>, m, a, factor, finish, y);
  } else {
    const dim3 grid(static_cast<unsigned>(divided_up(m, kPartRows)), static_cast<unsigned>(parts_));
    if (parts_ == 1) {
      launch(where, grid, kBlock, many_terms_kernel<kColumns, T, R>, m, terms_of_block_, a, factor, y);
      return;
    }
    auto* parts = reinterpret_cast<float*>(where.scratch);
    launch(where, grid, kBlock, many_terms_kernel<kColumns, T, float>, m, terms_of_block_, a, factor, parts);
    for_each(where, m * n, SumParts<R>{parts, m * n, parts_, y});
  }
}

void NarrowProduct::run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
                        const void* relu_result) const {
  with_float_type(shape_.dtype, [&](auto element) {
    using T = decltype(element);
    const auto run_to = [&](auto result) {
      using R = decltype(result);
      const NarrowFinish<R> finish{static_cast<const R*>(bias), shape_.has_relu(), static_cast<const R*>(relu_result)};
      with_padded(kind_ == Kind::few_terms ? shape_.k : shape_.n, [&](auto columns) {
        run_padded<columns>(where, static_cast<const T*>(a), static_cast<const T*>(b), finish, static_cast<R*>(y));
      });
    };
    if (shape_.result == shape_.dtype)
      run_to(T());
    else
      run_to(float());
  });
}

}  // namespace troupe::cuda
