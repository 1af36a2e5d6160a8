#pragma once

#include <memory>
#include <vector>

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
  HeadLayout(const Attention& a, std::int64_t positions, std::int64_t size);

  HeadMatrices matrices() const { return matrices_; }
  /// The memory for a copy. 0 if products can use the tensor itself.
  std::size_t copy_bytes() const;
  /// The heads of `rows` rows of the batch from `first` on: a copy in `copy`, or the tensor's memory.
  const float* split(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
                     std::byte* copy) const;
  /// The memory to which products write the heads: `copy` or the tensor's memory.
  float* target(const Tensor& tensor, std::int64_t first, std::byte* copy) const;
  /// Copies the heads that products wrote to `copy` into the tensor.
  void join(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
            const std::byte* copy) const;

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
              HeadMatrices z);

  std::size_t workspace_bytes() const;
  /// Runs the products of `rows` rows of the batch.
  void run(const Launch& where, std::int64_t rows, const float* x, const float* y, float* z, void* workspace) const;

 private:
  std::int64_t chunk_;
  std::unique_ptr<Product> of_chunk_, of_last_;  // the last chunk may have fewer rows
};

}  // namespace troupe::cuda
