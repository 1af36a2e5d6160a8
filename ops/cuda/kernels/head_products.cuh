#pragma once

#include <algorithm>
#include <memory>

#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/cuda/kernels/attention.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

/// The matrices of an attention, one for each row of a chunk and each head: the distance between matrices, and between
/// the rows of a matrix.
struct HeadMatrices {
  std::int64_t stride, ld;
};

/// The layout of the heads of queries, keys, values or their gradients as factors of products. A tensor [rows,
/// positions, heads * size] has one distance between heads and another between rows of the batch, but a batch of
/// products has only one distance. If a chunk has several rows and several heads, the heads are copied apart.
class HeadLayout {
 public:
  HeadLayout(const Attention& a, std::int64_t positions, std::int64_t size)
      : elements_of_row_(positions * a.heads * size),
        chunk_(a.chunk),
        matrices_{positions * size, size},
        copies_(a.heads > 1 && a.chunk > 1),
        walk_({{a.chunk, {elements_of_row_, elements_of_row_}},
               {a.heads, {positions * size, size}},
               {positions, {size, a.heads * size}},
               {size, {1, 1}}}) {
    if (a.heads > 1 && !copies_) matrices_ = {size, a.heads * size};
  }

  HeadMatrices matrices() const { return matrices_; }
  /// The elements of a copy. 0 if products can use the tensor itself.
  std::int64_t copy_elements() const { return copies_ ? chunk_ * elements_of_row_ : 0; }
  /// The heads of `rows` rows of the batch from `first` on: a copy in `copy`, or the tensor's memory.
  const float* split(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
                     float* copy) const {
    const auto* source = floats(tensor) + first * elements_of_row_;
    if (!copies_) return source;
    for_each(where, rows * elements_of_row_, CopyWalk<float, 1>{walk_, source, copy});
    return copy;
  }
  /// The memory to which products write the heads: `copy` or the tensor's memory.
  float* target(const Tensor& tensor, std::int64_t first, float* copy) const {
    return copies_ ? copy : mutable_floats(tensor) + first * elements_of_row_;
  }
  /// Copies the heads that products wrote to `copy` into the tensor.
  void join(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows, const float* copy) const {
    if (!copies_) return;
    auto* to = mutable_floats(tensor) + first * elements_of_row_;
    for_each(where, rows * elements_of_row_, CopyWalk<float>{walk_, copy, to});
  }

 private:
  std::int64_t elements_of_row_, chunk_;
  HeadMatrices matrices_;
  bool copies_;
  Walk<2> walk_;  // positions of the heads apart, and in the tensor
};

/// One product for every row of a chunk and every head.
class HeadProduct {
 public:
  enum class Transpose { none, a, b };
  struct Sizes {
    std::int64_t m, n, k;
  };

  HeadProduct(const Attention& a, const Sizes& sizes, Transpose transpose, float factor, HeadMatrices x, HeadMatrices y,
              HeadMatrices z)
      : chunk_(a.chunk) {
    ProductShape shape{.m = sizes.m,
                       .n = sizes.n,
                       .k = sizes.k,
                       .transpose_a = transpose == Transpose::a,
                       .transpose_b = transpose == Transpose::b,
                       .batch = a.chunk * a.heads,
                       .stride_a = x.stride,
                       .stride_b = y.stride,
                       .stride_y = z.stride,
                       .ld_a = x.ld,
                       .ld_b = y.ld,
                       .ld_y = z.ld,
                       .factor = factor};
    of_chunk_ = std::make_unique<Product>(shape);
    shape.batch = a.rows % a.chunk * a.heads;
    if (shape.batch > 0) of_last_ = std::make_unique<Product>(shape);
  }

  std::size_t workspace_bytes() const {
    return std::max(of_chunk_->workspace_bytes(), of_last_ == nullptr ? 0 : of_last_->workspace_bytes());
  }
  /// Runs the products of `rows` rows of the batch.
  void run(const Launch& where, std::int64_t rows, const float* x, const float* y, float* z, void* workspace) const {
    (rows == chunk_ ? *of_chunk_ : *of_last_).run(where.stream, x, y, nullptr, z, workspace);
  }

 private:
  std::int64_t chunk_;
  std::unique_ptr<Product> of_chunk_, of_last_;  // the last chunk may have fewer rows
};

}  // namespace troupe::cuda
