#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/cuda/product/lt_library.hpp"

namespace troupe::cuda {

/// The operations on a product before it is written to y: a bias is added, then a relu or a gelu, in its approximation
/// with tanh, is applied. With `kept`, the input of the gelu is also written to the auxiliary tensor. `gelu_grad`
/// multiplies the product by the gradient of the gelu at the auxiliary tensor; `gelu_grad_bias` also writes the sums of
/// the columns of y to the bias.
enum class Epilogue {
  none,
  bias,
  relu,
  relu_bias,
  gelu,
  gelu_bias,
  gelu_kept,
  gelu_bias_kept,
  gelu_grad,
  gelu_grad_bias
};

/// A product y = a b of row-major matrices, or of a batch of matrices that lie at equal distances in memory: the sizes,
/// the memory layout, the dtypes and the operations on the product.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;  ///< y is [m, n]; k is the number of terms of a sum
  bool transpose_a = false;          ///< a is [k, m] in memory, else [m, k]
  bool transpose_b = false;          ///< b is [n, k] in memory, else [k, n]
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_y = 0;  ///< in elements, from one matrix of the batch to the next
  std::int64_t ld_a = 0, ld_b = 0, ld_y = 0;              ///< elements from row to row; 0: the length of a row
  DType dtype = DType::float32;                           ///< type of a and b; sums are float32
  DType result = DType::float32;                          ///< type of y and the bias: equal to dtype, or float32
  Epilogue epilogue = Epilogue::none;
  bool tf32 = may_use_tf32();  ///< whether float32 factors may be rounded to TF32
  bool adds = false;           ///< whether the product is added to y instead of overwriting it
  float factor = 1.0F;         ///< factor by which the product is multiplied

  /// Returns the shape as one word: the key by which the choice of an algorithm for it is remembered. Shapes for which
  /// different algorithms may be the fastest have different keys.
  std::string key() const;
  /// Whether the epilogue is a relu, with or without a bias.
  bool has_relu() const { return epilogue == Epilogue::relu || epilogue == Epilogue::relu_bias; }
  /// Whether the batch is one product, all matrices have rows without gaps, the factor is 1, and the product overwrites
  /// y. The product may have an epilogue.
  bool is_plain() const { return batch == 1 && !adds && factor == 1.0F && ld_a == 0 && ld_b == 0 && ld_y == 0; }
  /// The number of multiplications of the whole batch.
  double multiplications() const {
    return static_cast<double>(m * batch) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// The bytes of the auxiliary tensor; 0 if the epilogue has none.
  std::size_t aux_bytes() const;
};

/// A product that cuBLASLt computes, prepared for one shape. choose_on_device() chooses its algorithm among the
/// proposals of cuBLASLt: by default the fastest, measured once for each shape and model of GPU. If a matrix does not
/// begin at a multiple of kAlignment bytes, such as some views, the product uses another algorithm, whose results may
/// differ in their last bits.
class Product {
 public:
  /// Prepares the product for the calling thread's current device; may block to measure. Throws Error if cuBLASLt
  /// cannot be loaded or has no algorithm for aligned matrices.
  explicit Product(const ProductShape& shape);

  /// Prepares the product like the constructor. Returns null where the constructor throws Error, such as for an
  /// epilogue that cuBLASLt does not support.
  static std::unique_ptr<const Product> if_supported(const ProductShape& shape);

  bool has_bias() const;
  /// The bytes of scratch memory that run() needs.
  std::size_t workspace_bytes() const;
  /// Launches the product. The epilogue reads `bias`, which has n elements, and reads or writes `aux`, the auxiliary
  /// tensor, which must have the shape of y and begin at a multiple of kAlignment bytes. Each may be null if the
  /// epilogue does not use it. `workspace` must have workspace_bytes() bytes. y must not be a, b or the workspace.
  /// Throws Error if the epilogue writes a bias, if `aux` is not aligned, if there is no algorithm for unaligned
  /// matrices, or if cuBLASLt refuses. Must be called by one thread at a time, because run() changes desc_.
  void run(cudaStream_t stream, const void* a, const void* b, const void* bias, void* y, void* workspace,
           const void* aux = nullptr) const;
  /// Launches the product like run(), with an epilogue that writes the sums of the columns of y to `column_sums`, which
  /// has n elements. Throws Error if the epilogue does not write a bias.
  void run_with_sums(cudaStream_t stream, const void* a, const void* b, void* column_sums, void* y, void* workspace,
                     const void* aux) const;

  /// The most scratch memory of an algorithm, in bytes.
  static constexpr std::size_t kMaxWorkspace = std::size_t{32} << 20;
  static constexpr std::uint32_t kAlignment = 16;

 private:
  /// An algorithm of cuBLASLt and the workspace that it needs.
  struct Algorithm {
    cublasLtMatmulAlgo_t id{};
    std::size_t workspace_bytes = 0;
  };

  void describe();
  void choose_algorithm();
  void choose_unaligned_algorithm();
  /// Returns at most `count` algorithms that cuBLASLt proposes for factors and a result with the given alignments in
  /// bytes, ordered by cuBLASLt's estimate of their speed.
  std::vector<cublasLtMatmulHeuristicResult_t> proposals(std::size_t factor_alignment, std::size_t result_alignment,
                                                         int count) const;
  /// The bytes of the two parts of the workspace: the scratch memory of the algorithms, and after it memory for a copy
  /// of the bias.
  std::size_t algorithm_bytes() const;
  std::size_t bias_bytes() const;
  void copy_bias(cudaStream_t stream, void* to, const void* from) const;
  bool writes_bias() const { return shape_.epilogue == Epilogue::gelu_grad_bias; }
  /// Launches the product. `bias` must be aligned or null.
  void launch(cudaStream_t stream, const void* a, const void* b, const void* bias, void* y, void* workspace,
              const void* aux) const;

  ProductShape shape_;
  cublasLtHandle_t handle_;
  LtHandle<cublasLtMatmulDesc_t> desc_;
  LtHandle<cublasLtMatrixLayout_t> a_, b_, y_;
  Algorithm aligned_;
  std::optional<Algorithm> unaligned_;
};

}  // namespace troupe::cuda
