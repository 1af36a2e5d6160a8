#pragma once

#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/cuda/product/narrow_product.hpp"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

/// Products of float32 matrices with few elements in the result, as in training with small batches: libraries have no
/// algorithm that gives all of a GPU something to do. Here many blocks have a few elements each, and the warps of a
/// block share the terms. Sums are float32, always in the same order; nothing is rounded to TF32.
class SmallProduct {
 public:
  /// True if there is a kernel for the shape, and it may be the fastest way.
  static bool suits(const ProductShape& shape);
  /// True for a shape that suits, of so little work that this is the faster way whatever the GPU.
  static bool is_surely_faster(const ProductShape& shape);
  /// For a shape that suits.
  explicit SmallProduct(const ProductShape& shape);

  /// Launches the product, as NarrowProduct::run does, without scratch memory.
  void run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
           const void* relu_result = nullptr) const;

 private:
  template <bool kTransposedA, bool kTransposedB>
  void run_transposed(const Launch& where, const float* a, const float* b, const NarrowFinish<float>& finish,
                      float* y) const;

  ProductShape shape_;
};

}  // namespace troupe::cuda
