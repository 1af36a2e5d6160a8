#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

template <class R>
struct NarrowFinish;

/// Products of matrices of which one has few columns, as in the last layer of a classifier and its gradients:
/// their work is so little that cuBLASLt spends most of its time on getting ready. Sums are float32, always in the same
/// order.
class NarrowProduct {
 public:
  /// Columns of b, or of a if those are summed over.
  static constexpr std::int64_t kMostColumns = 32;

  /// True if there is a kernel for the shape.
  static bool suits(const ProductShape& shape);
  /// True for a shape that suits, of so little work that this is the faster way whatever the GPU.
  static bool is_surely_faster(const ProductShape& shape);
  /// For a shape that suits.
  explicit NarrowProduct(const ProductShape& shape);

  /// Scratch memory that run() needs.
  std::size_t scratch_bytes() const;
  /// Launches the product, as Product::run does; the scratch memory is that of `where`. With what a relu has made, like
  /// y, results become the gradient of what the relu got: zero where that is not above 0. Not if a is transposed.
  void run(const Launch& where, const void* a, const void* b, const void* bias, void* y,
           const void* relu_result = nullptr) const;

 private:
  enum class Kind { none, few_columns, few_terms, many_terms };

  static Kind kind_of(const ProductShape& shape);
  template <class T, class R>
  void run_typed(const Launch& where, const T* a, const T* b, const NarrowFinish<R>& finish, R* y) const;
  template <int kColumns, class T, class R>
  void run_padded(const Launch& where, const T* a, const T* b, const NarrowFinish<R>& finish, R* y) const;

  Kind kind_;
  DType dtype_, result_;
  std::int64_t m_, n_, k_;
  bool transpose_b_, relu_;
  std::int64_t terms_of_block_ = 0, parts_ = 1;  // of the sums over many terms
};

}  // namespace troupe::cuda
