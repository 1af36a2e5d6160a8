#include <initializer_list>

#include "troupe/tests/emulated_cuda/matmul.hpp"

namespace emulated_cuda {

namespace {

bool is_wide_enough(const MatrixLayout& layout) {
  const std::uint64_t line = layout.order == CUBLASLT_ORDER_ROW ? layout.cols : layout.rows;
  return layout.ld >= 0 && static_cast<std::uint64_t>(layout.ld) >= line;
}

bool are_types_supported(const MatmulDesc& desc, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                         cudaDataType_t d) {
  if (a != b || c != d || desc.scale != CUDA_R_32F) return false;
  if (desc.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return false;
  if (a == CUDA_R_32F) return d == CUDA_R_32F;
  if (a != CUDA_R_16F && a != CUDA_R_16BF) return false;
  const bool is_plain = desc.compute == CUBLAS_COMPUTE_32F || desc.compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  return is_plain && (d == a || d == CUDA_R_32F);
}

cublasStatus_t check_epilogue(const MatmulDesc& desc, const MatrixLayout& d, const MatmulShape& shape) {
  // Observed, not documented: cuBLASLt has no algorithm for the gradient of an activation if the sums have one product.
  if (has(desc.epilogue, kDrelu | kDgelu) && shape.k == 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto type = static_cast<std::int32_t>(d.type);
  const bool has_bias = has(desc.epilogue, kBias | kBiasGradient | kBiasGradientA | kBiasGradientB);
  if (has_bias && desc.bias_type != -1 && desc.bias_type != type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!has(desc.epilogue, kAux)) return CUBLAS_STATUS_SUCCESS;
  const bool is_mask = has(desc.epilogue, kRelu | kDrelu);
  if (!is_mask && desc.aux_type != -1 && desc.aux_type != type) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool is_wide = desc.aux_ld > 0 && static_cast<std::uint64_t>(desc.aux_ld) >= d.rows;
  return is_wide && desc.aux_ld % (is_mask ? 128 : 8) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace

cublasStatus_t check_operands(const MatmulDesc& desc, const MatrixLayout& a, const MatrixLayout& b,
                              const MatrixLayout& c, const MatrixLayout& d, MatmulShape& shape) {
  const bool transposed_a = desc.transpose_a != CUBLAS_OP_N, transposed_b = desc.transpose_b != CUBLAS_OP_N;
  shape = {transposed_a ? a.cols : a.rows, transposed_b ? b.rows : b.cols, transposed_a ? a.rows : a.cols};
  const bool fits = shape.k == (transposed_b ? b.cols : b.rows) && c.rows == shape.m && d.rows == shape.m &&
                    c.cols == shape.n && d.cols == shape.n && shape.m > 0 && shape.n > 0 && shape.k > 0;
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  for (const MatrixLayout* layout : {&a, &b, &c, &d}) {
    if (!is_wide_enough(*layout) || layout->batch_count != d.batch_count) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!are_types_supported(desc, a.type, b.type, c.type, d.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return check_epilogue(desc, d, shape);
}

}  // namespace emulated_cuda
