#pragma once

#include <cstddef>
#include <cstdint>

#include "cublasLt.h"

struct emulated_cublasLtMatmulDesc {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  cublasLtPointerMode_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  cublasOperation_t transpose_a = CUBLAS_OP_N;
  cublasOperation_t transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  /// -1: the type of D.
  std::int32_t bias_type = -1;
  void* aux = nullptr;
  std::int64_t aux_ld = 0;
  std::int64_t aux_batch_stride = 0;
  std::int32_t aux_type = -1;
};

struct emulated_cublasLtMatrixLayout {
  cudaDataType_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::int64_t ld = 0;
  std::int32_t batch_count = 1;
  std::int64_t batch_stride = 0;
};

struct emulated_cublasLtMatmulPreference {
  std::uint64_t max_workspace_bytes = 0;
  /// The alignments of A, B, C and D in bytes.
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace emulated_cuda {

using MatmulDesc = emulated_cublasLtMatmulDesc;
using MatrixLayout = emulated_cublasLtMatrixLayout;

/// The sizes of a product m x n that is summed over k.
struct MatmulShape {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

/// Three orders of summation, which give different last bits.
enum class SumOrder : std::uint64_t { kAscending, kHalves, kDescending };

/// All arguments of a product.
struct MatmulCall {
  MatmulDesc desc;
  MatrixLayout a_layout, b_layout, c_layout, d_layout;
  MatmulShape shape;
  float alpha, beta;
  const void *a, *b, *c;
  void* d;
  SumOrder order;
  /// m x n floats, for kHalves only.
  float* workspace;
};

void run_matmul(const MatmulCall& call);

/// Returns an error if the operands do not fit together. Otherwise returns CUBLAS_STATUS_SUCCESS and sets `shape`.
cublasStatus_t check_operands(const MatmulDesc& desc, const MatrixLayout& a, const MatrixLayout& b,
                              const MatrixLayout& c, const MatrixLayout& d, MatmulShape& shape);

constexpr bool has(cublasLtEpilogue_t epilogue, int bits) {
  return (epilogue & bits) != 0;
}

/// The bits of which the values of epilogues consist.
enum EpilogueBit : int {
  kRelu = 2,
  kBias = 4,
  kDrelu = 8,
  kBiasGradient = 16,
  kGelu = 32,
  kDgelu = 64,
  kAux = 128,
  kBiasGradientA = 256,
  kBiasGradientB = 512
};

}  // namespace emulated_cuda
