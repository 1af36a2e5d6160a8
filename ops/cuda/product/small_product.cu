#include "troupe/ops/cuda/product/small_product.cuh"
#include "troupe/ops/cuda/product/small_product.hpp"

namespace troupe::cuda {

namespace {

constexpr int kMultiple = 4;

unsigned tiles(std::int64_t size) {
  return static_cast<unsigned>((size + kSmallTile - 1) / kSmallTile);
}

}  // namespace

bool SmallProduct::suits(const ProductShape& shape) {
  const bool has_finish = shape.epilogue == Epilogue::none || shape.epilogue == Epilogue::bias ||
                          shape.epilogue == Epilogue::relu || shape.epilogue == Epilogue::relu_bias;
  const bool is_float32 = shape.dtype == DType::float32 && shape.result == DType::float32;
  const bool has_lanes = shape.m % kMultiple == 0 && shape.n % kMultiple == 0 && shape.k % kMultiple == 0;
  // Above this, cuBLASLt is always faster.
  constexpr double kMaxWork = 1 << 26;
  return shape.is_plain() && has_finish && is_float32 && has_lanes && shape.multiplications() <= kMaxWork;
}

bool SmallProduct::is_surely_faster(const ProductShape& shape) {
  constexpr double kLittleWork = 1 << 22;
  return suits(shape) && shape.multiplications() <= kLittleWork;
}

SmallProduct::SmallProduct(const ProductShape& shape) : shape_(shape) {}

template <bool kTransposedA, bool kTransposedB>
void SmallProduct::run_transposed(const Launch& where, const float* a, const float* b,
                                  const NarrowFinish<float>& finish, float* y) const {
  const SmallSizes sizes{shape_.m, shape_.n, shape_.k};
  const bool aligned = begins_with_lanes<kMultiple>(a) && begins_with_lanes<kMultiple>(b);
  using Aligned = SmallLayout<kTransposedA, kTransposedB, true>;
  using Unaligned = SmallLayout<kTransposedA, kTransposedB, false>;
  constexpr int kFewTerms = 128, kManyTerms = 256;
  auto* kernel = small_product_kernel<Unaligned, kManyTerms>;
  if (aligned)
    kernel =
        sizes.k <= kFewTerms ? small_product_kernel<Aligned, kFewTerms> : small_product_kernel<Aligned, kManyTerms>;
  launch(where, dim3(tiles(shape_.n), tiles(shape_.m)), kBlock, kernel, sizes, a, b, finish, y);
}

void SmallProduct::run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
                       const void* relu_result) const {
  const bool relu = shape_.epilogue == Epilogue::relu || shape_.epilogue == Epilogue::relu_bias;
  const NarrowFinish<float> finish{static_cast<const float*>(bias), relu, static_cast<const float*>(relu_result)};
  const auto start = [&](auto method) {
    (this->*method)(where, static_cast<const float*>(a), static_cast<const float*>(b), finish, static_cast<float*>(y));
  };
  if (shape_.transpose_a)
    start(shape_.transpose_b ? &SmallProduct::run_transposed<true, true> : &SmallProduct::run_transposed<true, false>);
  else
    start(shape_.transpose_b ? &SmallProduct::run_transposed<false, true>
                             : &SmallProduct::run_transposed<false, false>);
}

}  // namespace troupe::cuda
