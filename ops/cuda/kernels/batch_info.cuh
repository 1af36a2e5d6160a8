#pragma once

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"

namespace troupe::cuda {

/// A batch info in device memory, which only kernels may read.
inline const BatchInfo* batch_info_of(const Tensor& tensor) {
  static_assert(sizeof(BatchInfo) == 4 * sizeof(std::int64_t));
  return data_of<BatchInfo>(tensor);
}

}  // namespace troupe::cuda
