#pragma once

#include <cstring>
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
/// Copies floats between memory that does not overlap. The pointers may be null if `count` is 0.
inline void copy_floats(const float* from, float* to, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace troupe::cpu
