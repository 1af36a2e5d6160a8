#pragma once

#include <memory>
#include <vector>

#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/cuda/kernels/attention.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

/// Matrices of an attention, one for each row of a chunk and each head in it: so far apart, and so far from row to row.
struct HeadMatrices {
  std::int64_t stride, ld;
};

/// How the heads of queries, keys, values, or of their gradients, lie in memory for products. A tensor [rows, places,
/// heads * size] has one distance from head to head and another one from row to row of the batch, but a batch of
/// products has one distance. So where a chunk has several of both, the heads are copied apart.
class HeadLayout {
 public:
  HeadLayout(const Attention& a, std::int64_t places, std::int64_t size);

  HeadMatrices matrices() const { return matrices_; }
  /// Memory for a copy; 0 if the tensor serves as it is.
  std::size_t copy_bytes() const;
  /// The heads of `rows` rows of the batch from `first` on: in `copy`, or where they are.
  const float* split(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
                     std::byte* copy) const;
  /// Where products write such heads.
  float* target(const Tensor& tensor, std::int64_t first, std::byte* copy) const;
  /// Brings what they wrote to the tensor.
  void join(const Launch& where, const Tensor& tensor, std::int64_t first, std::int64_t rows,
            const std::byte* copy) const;

 private:
  std::int64_t elements_of_row_, chunk_;
  HeadMatrices matrices_;
  bool copies_;
  Walk<2> walk_;  // of the heads apart, and in the tensor
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
  /// Of `rows` rows of the batch.
  void run(const Launch& where, std::int64_t rows, const float* x, const float* y, float* z, void* workspace) const;

 private:
  std::int64_t chunk_;
  std::unique_ptr<Product> of_chunk_, of_last_;  // the last chunk may have fewer rows
};

}  // namespace troupe::cuda
