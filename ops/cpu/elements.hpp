#pragma once

#include <span>

#include "troupe/ops/core/simd_clones.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/function_kernel.hpp"

namespace troupe::cpu {

using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;

inline const float* floats(const Tensor& tensor) {
  return reinterpret_cast<const float*>(tensor.address());
}
inline float* mutable_floats(const Tensor& tensor) {
  return reinterpret_cast<float*>(tensor.address());
}

}  // namespace troupe::cpu
