#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/cuda/product/lt_library.hpp"

namespace troupe::cuda {

/// What is done to the result of a product before it is written. With `kept`, a gelu (the approximation with tanh) also
/// writes what it got. Of that its gradient is made, with `bias` also the sums of its columns, which are written as the
/// bias.
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

/// y = a b for row-major matrices, or for a batch of them that lie at equal distances.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;  ///< y is [m, n]
  bool transpose_a = false;          ///< a is [k, m] in memory, else [m, k]
  bool transpose_b = false;          ///< b is [n, k] in memory, else [k, n]
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_y = 0;  ///< in elements, from one matrix of the batch to the next
  std::int64_t ld_a = 0, ld_b = 0, ld_y = 0;              ///< elements from row to row; 0: those of one row
  DType dtype = DType::float32;                           ///< of a and b; sums are float32
  DType result = DType::float32;                          ///< of y and the bias: that of a and b, or float32
  Epilogue epilogue = Epilogue::none;
  bool tf32 = false;    ///< float32 factors are rounded to TF32
  bool adds = false;    ///< to what y holds
  float factor = 1.0F;  ///< of the product

  /// One word that tells apart whatever may make another algorithm the fastest.
  std::string key() const;
  /// Whether y is one product of matrices without gaps, and nothing more but the epilogue.
  bool is_plain() const { return batch == 1 && !adds && factor == 1.0F && ld_a == 0 && ld_b == 0 && ld_y == 0; }
  /// Of the whole batch.
  double multiplications() const {
    return static_cast<double>(m * batch) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// Bytes of what the epilogue reads or writes besides the bias.
  std::size_t aux_bytes() const;
};

/// A product prepared for one shape: the algorithm is the fastest that cuBLASLt proposes, measured once for each shape
/// and kind of GPU. Unaligned matrices, which as some views do not begin at multiples of kAlignment bytes, get another
/// algorithm, whose results may differ in their last bits.
class Product {
 public:
  /// For the calling thread's current device. Throws Error if cuBLASLt has no algorithm.
  explicit Product(const ProductShape& shape);

  /// The product, or null if cuBLASLt has no algorithm that does its epilogue.
  static std::unique_ptr<const Product> if_supported(const ProductShape& shape);

  bool has_bias() const;
  /// Scratch memory that run() needs.
  std::size_t workspace_bytes() const;
  /// Launches the product. If the epilogue has a bias, that has n elements; `aux` is what its gelu got, like y. The
  /// epilogue reads or writes them. y must not be a, b or the workspace; `aux` begins at a multiple of kAlignment
  /// bytes.
  void run(cudaStream_t stream, const void* a, const void* b, const void* bias, void* y, void* workspace,
           const void* aux = nullptr) const;

  /// No product gets more scratch memory.
  static constexpr std::size_t kMostWorkspace = std::size_t{32} << 20;
  static constexpr std::uint32_t kAlignment = 16;

 private:
  struct Algorithm {
    cublasLtMatmulAlgo_t id{};
    std::size_t workspace_bytes = 0;
  };

  void describe();
  void choose_algorithm();
  void choose_unaligned_algorithm();
  /// Scratch memory for the algorithms; behind it is room for a bias.
  std::size_t algorithm_bytes() const;
  std::size_t bias_bytes() const;
  void copy_bias(cudaStream_t stream, const void* to, const void* from) const;

  ProductShape shape_;
  cublasLtHandle_t handle_;
  LtHandle<cublasLtMatmulDesc_t> desc_;
  LtHandle<cublasLtMatrixLayout_t> a_, b_, y_;
  Algorithm aligned_;
  std::optional<Algorithm> unaligned_;
};

}  // namespace troupe::cuda
