#pragma once

#include <memory>
#include <type_traits>

#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/cuda/device/half.cuh"

namespace troupe::cuda {

// Kernels for several dtypes have the element type as a template parameter. 16-bit floats exist in memory only:
// arithmetic uses float32, and a result is rounded once, when it is stored.

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, HalfBits> || std::is_same_v<T, BFloatBits>;

/// Element i, as a number for arithmetic.
template <class T>
__device__ auto load(const T* elements, std::int64_t i) {
  if constexpr (kIsHalf<T>)
    return to_float(elements[i]);
  else
    return elements[i];
}
/// Element i of an array that the kernel does not write to, as a float.
template <class T>
__device__ float load_constant(const T* elements, std::int64_t i) {
  if constexpr (kIsHalf<T>)
    return to_float(T{__ldg(&elements[i].bits)});
  else
    return __ldg(elements + i);
}

template <class T, class Number>
__device__ void store(T* elements, std::int64_t i, Number number) {
  if constexpr (kIsHalf<T>)
    from_float(number, elements[i]);
  else
    elements[i] = number;
}

/// Calls f with an element of a floating-point dtype, whose type selects the kernel.
template <class F>
auto with_float_type(DType dtype, F f) {
  switch (dtype) {
    case DType::float16:
      return f(HalfBits());
    case DType::bfloat16:
      return f(BFloatBits());
    default:
      return f(float());
  }
}

}  // namespace troupe::cuda
