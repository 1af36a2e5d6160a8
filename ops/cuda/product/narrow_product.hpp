#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

template <class R>
struct NarrowFinish;

/// Products of matrices of which one has few columns, as in the last layer of a classifier and its gradients. They have
/// so little work that cuBLASLt spends most of its time on preparation. Sums are float32, always in the same order.
class NarrowProduct {
 public:
  static constexpr const char* kName = "narrow";
  /// The most columns of b, or of a if a is summed over.
  static constexpr std::int64_t kMaxColumns = 32;

  /// Whether there is a kernel for the shape.
  static bool suits(const ProductShape& shape);
  /// Whether a supported shape has so little work that this kernel is faster on any GPU.
  static bool is_surely_faster(const ProductShape& shape);
  /// The shape must be supported; see suits().
  explicit NarrowProduct(const ProductShape& shape);

  /// The scratch memory that run() needs.
  std::size_t scratch_bytes() const;
  /// Launches the product like Product::run, with the scratch memory of `where`. `relu_result` is a relu's result of
  /// the shape of y: where it is not above 0, y becomes 0, which is the gradient of the relu. Not supported if a is
  /// transposed.
  void run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
           const void* relu_result = nullptr) const;

 private:
  /// The kernels: b has few columns, a sum has few terms, or b has few columns and a is transposed, so that a sum has
  /// many terms.
  enum class Kind { none, few_columns, few_terms, many_terms };

  static Kind kind_of(const ProductShape& shape);
  template <int kColumns, class T, class R>
  void run_padded(const Launch& where, const T* a, const T* b, const NarrowFinish<R>& finish, R* y) const;

  ProductShape shape_;
  Kind kind_;
  std::int64_t terms_of_block_ = 0, parts_ = 1;  // for sums over many terms
};

/// Products of float32 matrices with few elements in the result, as in training with small batches. Libraries have no
/// algorithm that occupies all of a GPU with them. Here each of many blocks computes a few elements, and the warps of a
/// block share the terms. Sums are float32, always in the same order; nothing is rounded to TF32. Used like
/// NarrowProduct.
class SmallProduct {
 public:
  static constexpr const char* kName = "small";

  static bool suits(const ProductShape& shape);
  static bool is_surely_faster(const ProductShape& shape);
  explicit SmallProduct(const ProductShape& shape) : shape_(shape) {}

  std::size_t scratch_bytes() const { return 0; }
  void run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
           const void* relu_result = nullptr) const;

 private:
  ProductShape shape_;
};

}  // namespace troupe::cuda
