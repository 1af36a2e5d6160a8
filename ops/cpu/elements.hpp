#pragma once

#include <cstring>
#include <span>

#include "troupe/ops/core/half.hpp"
#include "troupe/ops/core/simd_clones.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/function_kernel.hpp"

namespace troupe::cpu {

using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;

/// The numeric attribute `name` of a call, rounded to float.
inline float float_attribute(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

template <class T>
T* elements(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.address());
}
inline const float* floats(const Tensor& tensor) {
  return elements<float>(tensor);
}
inline float* mutable_floats(const Tensor& tensor) {
  return elements<float>(tensor);
}
/// Copies floats between memory that does not overlap. The pointers may be null if `count` is 0.
inline void copy_floats(const float* from, float* to, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

/// Calls f with a null pointer to the C++ type of a float dtype, and returns the result of f.
template <class F>
decltype(auto) with_float_type(DType dtype, F f) {
  if (dtype == DType::float16) return f(static_cast<Float16*>(nullptr));
  if (dtype == DType::bfloat16) return f(static_cast<BFloat16*>(nullptr));
  return f(static_cast<float*>(nullptr));
}

/// Calls f with a null pointer to the C++ type of a dtype, which may be any dtype, and returns the result of f.
template <class F>
decltype(auto) with_any_type(DType dtype, F f) {
  if (dtype == DType::float16) return f(static_cast<Float16*>(nullptr));
  if (dtype == DType::bfloat16) return f(static_cast<BFloat16*>(nullptr));
  return with_element_type(dtype, f);
}

}  // namespace troupe::cpu
