#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "troupe/tests/emulated_cuda/matmul.hpp"

namespace emulated_cuda {

constexpr std::size_t bytes_of(cudaDataType_t type) {
  return type == CUDA_R_32F ? 4 : 2;
}

inline float load(const void* array, cudaDataType_t type, std::size_t index) {
  switch (type) {
    case CUDA_R_16F:
      return static_cast<const __half*>(array)[index];
    case CUDA_R_16BF:
      return static_cast<const __nv_bfloat16*>(array)[index];
    default:
      return static_cast<const float*>(array)[index];
  }
}

inline void store(void* array, cudaDataType_t type, std::size_t index, float value) {
  switch (type) {
    case CUDA_R_16F:
      static_cast<__half*>(array)[index] = __half(value);
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(array)[index] = __nv_bfloat16(value);
      break;
    default:
      static_cast<float*>(array)[index] = value;
  }
}

/// The index of the element (row, column) in the first matrix of a batch.
inline std::size_t index_of(const MatrixLayout& layout, std::size_t row, std::size_t column) {
  const auto ld = static_cast<std::size_t>(layout.ld);
  return layout.order == CUBLASLT_ORDER_ROW ? row * ld + column : column * ld + row;
}

/// Matrix number `batch` of an array.
inline const void* matrix_of(const void* array, const MatrixLayout& layout, std::int32_t batch) {
  return static_cast<const char*>(array) +
         batch * layout.batch_stride * static_cast<std::int64_t>(bytes_of(layout.type));
}

}  // namespace emulated_cuda
