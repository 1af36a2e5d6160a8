#include "troupe/ops/cuda/kernels/head_products.hpp"

#include <algorithm>

#include "troupe/ops/core/matmul_precision.hpp"

namespace troupe::cuda {

namespace {

/// Copies elements of a walk from their positions in array kFrom to their positions in the other array.
template <int kFrom>
struct CopyHeads {
  Walk<2> walk;
  const float* from;
  float* to;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t at[2];
    walk.find(i, at);
    to[at[1 - kFrom]] = from[at[kFrom]];
  }
};

}  // namespace

HeadLayout::HeadLayout(const Attention& a, std::int64_t places, std::int64_t size)
    : elements_of_row_(places * a.heads * size),
      chunk_(a.chunk),
      matrices_{places * size, size},
      copies_(a.heads > 1 && a.chunk > 1) {
  if (a.heads > 1 && !copies_) matrices_ = {size, a.heads * size};
  walk_ = Walk<2>({{a.chunk, {elements_of_row_, elements_of_row_}},
                   {a.heads, {places * size, size}},
                   {places, {size, a.heads * size}},
                   {size, {1, 1}}});
}

std::size_t HeadLayout::copy_bytes() const {
  return copies_ ? MemoryPool::rounded(static_cast<std::size_t>(chunk_ * elements_of_row_) * sizeof(float)) : 0;
}

const float* HeadLayout::split(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
                               std::byte* copy) const {
  const auto* source = floats(tensor) + first * elements_of_row_;
  if (!copies_) return source;
  auto* apart = reinterpret_cast<float*>(copy);
  for_each(where, rows * elements_of_row_, CopyHeads<1>{walk_, source, apart});
  return apart;
}

float* HeadLayout::target(const Tensor& tensor, std::int64_t first, std::byte* copy) const {
  return copies_ ? reinterpret_cast<float*>(copy) : mutable_floats(tensor) + first * elements_of_row_;
}

void HeadLayout::join(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
                      const std::byte* copy) const {
  if (!copies_) return;
  for_each(
      where, rows * elements_of_row_,
      CopyHeads<0>{walk_, reinterpret_cast<const float*>(copy), mutable_floats(tensor) + first * elements_of_row_});
}

HeadProduct::HeadProduct(const Attention& a, const Sizes& sizes, Transpose transpose, float factor, HeadMatrices x,
                         HeadMatrices y, HeadMatrices z)
    : chunk_(a.chunk) {
  ProductShape shape;
  shape.m = sizes.m;
  shape.n = sizes.n;
  shape.k = sizes.k;
  shape.transpose_a = transpose == Transpose::a;
  shape.transpose_b = transpose == Transpose::b;
  shape.factor = factor;
  shape.tf32 = may_use_tf32();
  shape.ld_a = x.ld;
  shape.ld_b = y.ld;
  shape.ld_y = z.ld;
  shape.stride_a = x.stride;
  shape.stride_b = y.stride;
  shape.stride_y = z.stride;
  shape.batch = a.chunk * a.heads;
  of_chunk_ = std::make_unique<Product>(shape);
  shape.batch = a.rows % a.chunk * a.heads;
  if (shape.batch > 0) of_last_ = std::make_unique<Product>(shape);
}

std::size_t HeadProduct::workspace_bytes() const {
  return std::max(of_chunk_->workspace_bytes(), of_last_ == nullptr ? 0 : of_last_->workspace_bytes());
}

void HeadProduct::run(const Launch& where, std::int64_t rows, const float* x, const float* y, float* z,
                      void* workspace) const {
  const auto& product = rows == chunk_ ? *of_chunk_ : *of_last_;
  product.run(where.stream, x, y, nullptr, z, workspace);
}

}  // namespace troupe::cuda
