#pragma once

#include <algorithm>
#include <memory>

#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/cuda/kernels/attention.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

/// Gives the heads of queries, keys, values, results or their gradients as operands of a batch of products. In a tensor
/// [rows, positions, heads * size] the distance between heads differs from the distance between rows, but a batch of
/// products has only one distance. If a chunk has several rows and several heads, its heads are therefore copied to an
/// array [rows, heads, positions, size].
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
  /// The number of elements of a copy. 0 if products can use the tensor itself.
  std::int64_t copy_elements() const { return copies_ ? chunk_ * elements_of_row_ : 0; }
  /// Returns the address of the heads of `rows` rows of the batch from row `first` on, for reading. The heads are in
  /// the tensor's memory or, after a copy that is launched here, in `copy`.
  const float* split(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
                     float* copy) const {
    const auto* source = floats(tensor) + first * elements_of_row_;
    if (!copies_) return source;
    for_each(where, rows * elements_of_row_, CopyWalk<float, 1>{walk_, source, copy});
    return copy;
  }
  /// Returns the memory to which products must write the heads: `copy` or the tensor's memory from row `first` on.
  float* target(const Tensor& tensor, std::int64_t first, float* copy) const {
    return copies_ ? copy : mutable_floats(tensor) + first * elements_of_row_;
  }
  /// Copies the heads that products wrote to `copy` into the tensor. Does nothing if products wrote to the tensor
  /// itself.
  void join(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows, const float* copy) const {
    if (!copies_) return;
    auto* to = mutable_floats(tensor) + first * elements_of_row_;
    for_each(where, rows * elements_of_row_, CopyWalk<float>{walk_, copy, to});
  }

 private:
  std::int64_t elements_of_row_, chunk_;
  HeadMatrices matrices_;
  bool copies_;
  Walk<2> walk_;  // the positions of an element in the copy and in the tensor
};

/// A batch of products z = factor * x * y, one for every head of every row of a chunk. Transpose::a transposes x,
/// Transpose::b transposes y.
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
  /// Launches the products of a chunk. `rows` must be the number of rows of every chunk or of the last one, which may
  /// be smaller.
  void run(const Launch& where, std::int64_t rows, const float* x, const float* y, float* z, void* workspace) const {
    (rows == chunk_ ? *of_chunk_ : *of_last_).run(where.stream, x, y, nullptr, z, workspace);
  }

 private:
  std::int64_t chunk_;
  std::unique_ptr<Product> of_chunk_, of_last_;  // products of a chunk; products of a smaller last chunk, or null
};

}  // namespace troupe::cuda
