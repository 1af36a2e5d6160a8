#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

template <class R>
struct NarrowFinish;

/// Computes a product y = a b in which b has few columns, or in which the sums have few terms, as in the last layer of
/// a classifier and its gradients. Such a product has so little work that cuBLASLt would spend most of its time on
/// preparation. Sums are float32 and always in the same order.
class NarrowProduct {
 public:
  static constexpr const char* kName = "narrow";
  /// The most columns of b that count as few, and the most terms of a sum that count as few.
  static constexpr std::int64_t kMaxColumns = 32;

  /// Whether there is a kernel for the shape.
  static bool suits(const ProductShape& shape);
  /// Whether the shape is supported and has so little work that this kernel needs no measurement against cuBLASLt: it
  /// is faster on every GPU.
  static bool is_surely_faster(const ProductShape& shape);
  /// The shape must be supported; see suits().
  explicit NarrowProduct(const ProductShape& shape);

  /// The bytes of scratch memory that run() needs.
  std::size_t scratch_bytes() const;
  /// Launches the product like Product::run, with the scratch memory of `where`. `bias` has n elements, or is null if
  /// the epilogue has no bias. `relu_result` is null, or a relu's result with the shape of y: where it is not above 0,
  /// y becomes 0, which is the gradient of the relu. It must be null if a is transposed.
  void run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
           const void* relu_result = nullptr) const;

 private:
  /// The kernels for different shapes. `few_columns`: b has few columns. `few_terms`: a sum has few terms.
  /// `many_terms`: a is transposed and b has few columns; the terms of a sum are divided over blocks. `none`: no kernel
  /// suits the shape.
  enum class Kind { none, few_columns, few_terms, many_terms };

  static Kind kind_of(const ProductShape& shape);
  template <int kColumns, class T, class R>
  void run_padded(const Launch& where, const T* a, const T* b, const NarrowFinish<R>& finish, R* y) const;

  ProductShape shape_;
  Kind kind_;
  std::int64_t terms_of_block_ = 0, parts_ = 1;  // for Kind::many_terms
};

/// Computes a product of float32 matrices whose result has few elements, as in training with small batches. cuBLASLt
/// has no algorithm that occupies a whole GPU with such a product. Each block of this kernel computes a small tile of
/// the result, and the warps of a block share the terms of the sums. Sums are float32 and always in the same order;
/// factors are not rounded to TF32. The functions do the same as those of NarrowProduct; `relu_result` may be given if
/// a is transposed, too.
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
