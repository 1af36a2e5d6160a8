#pragma once

#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/cuda/product/narrow_product.hpp"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

/// Products of float32 matrices with few elements in the result, as in training with small batches. Libraries have no
/// algorithm that occupies all of a GPU with them. Here each of many blocks computes a few elements, and the warps of a
/// block share the terms. Sums are float32, always in the same order; nothing is rounded to TF32.
class SmallProduct {
 public:
  /// Whether there is a kernel for the shape that may be the fastest.
  static bool suits(const ProductShape& shape);
  /// Whether a supported shape has so little work that this kernel is faster on any GPU.
  static bool is_surely_faster(const ProductShape& shape);
  /// The shape must be supported; see suits().
  explicit SmallProduct(const ProductShape& shape);

  /// Launches the product like NarrowProduct::run, without scratch memory.
  void run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
           const void* relu_result = nullptr) const;

 private:
  template <bool kTransposedA, bool kTransposedB>
  void run_transposed(const Launch& where, const float* a, const float* b, const NarrowFinish<float>& finish,
                      float* y) const;

  ProductShape shape_;
};

}  // namespace troupe::cuda
