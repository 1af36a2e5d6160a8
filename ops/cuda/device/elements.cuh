#pragma once

#include <memory>
#include <type_traits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

// HalfBits and BFloatBits stand for Float16 and BFloat16 of ops/core/half.hpp in device code. Their conversions from
// and to float give the same bits as the conversions on the host.

struct HalfBits {
  std::uint16_t bits;
};
struct BFloatBits {
  std::uint16_t bits;
};
static_assert(sizeof(HalfBits) == sizeof(Float16) && sizeof(BFloatBits) == sizeof(BFloat16));

__device__ inline float to_float(HalfBits x) {
  constexpr std::uint32_t kExponent = 0x7c00U << 13U, kRebias = (127U - 15U) << 23U, kToInfinity = (128U - 16U) << 23U;
  const std::uint32_t magnitude = (x.bits & 0x7fffU) << 13U;
  const std::uint32_t exponent = magnitude & kExponent;
  // A subnormal half has no leading one. The exponent of the first float adds a leading one, and the second float,
  // 2^-14, subtracts it.
  const float subnormal = __uint_as_float(magnitude + kRebias + (1U << 23U)) - __uint_as_float(113U << 23U);
  const std::uint32_t normal = magnitude + kRebias + (exponent == kExponent ? kToInfinity : 0U);
  const std::uint32_t result = exponent == 0 ? __float_as_uint(subnormal) : normal;
  return __uint_as_float(result | ((x.bits & 0x8000U) << 16U));
}
__device__ inline float to_float(BFloatBits x) {
  return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16U);
}

__device__ inline void from_float(float value, HalfBits& to) {
  constexpr std::uint32_t kRebias = (127U - 15U) << 23U, kShift = 126U << 23U;
  const std::uint32_t all = __float_as_uint(value), sign = all & 0x80000000U, magnitude = all ^ sign;
  // If the result is a subnormal half, adding 0.5, the float with the bits kShift, moves the bits of the result to the
  // lowest places and rounds them.
  const std::uint32_t small = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(kShift)) - kShift;
  const std::uint32_t normal = (magnitude - kRebias + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
  const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t finite = magnitude < (113U << 23U) ? small : normal;
  to.bits = static_cast<std::uint16_t>((magnitude >= (143U << 23U) ? large : finite) | (sign >> 16U));
}
__device__ inline void from_float(float value, BFloatBits& to) {
  const std::uint32_t all = __float_as_uint(value);
  const std::uint32_t rounded = (all + 0x7fffU + ((all >> 16U) & 1U)) >> 16U;
  to.bits = static_cast<std::uint16_t>((all & 0x7fffffffU) > 0x7f800000U ? (all >> 16U) | 0x40U : rounded);
}

// Kernels for several dtypes have the element type as a template parameter. 16-bit floats exist in memory only:
// arithmetic uses float32, and a result is rounded once, when it is stored.

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, HalfBits> || std::is_same_v<T, BFloatBits>;

/// Returns element i as a number for arithmetic: a 16-bit float as a float, any other number unchanged.
template <class T>
__device__ auto load(const T* elements, std::int64_t i) {
  if constexpr (kIsHalf<T>)
    return to_float(elements[i]);
  else
    return elements[i];
}
/// Returns element i as a float, by a load through the read-only cache. The kernel must not write to the array.
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

/// Returns the dtype of the elements that kernels take as type T.
template <class T>
constexpr DType dtype_of_elements() {
  if constexpr (std::is_same_v<T, HalfBits>)
    return DType::float16;
  else if constexpr (std::is_same_v<T, BFloatBits>)
    return DType::bfloat16;
  else
    return DTypeOf<T>::value;
}

/// Calls f with a value of the one type among T and Others whose elements have `dtype`, and returns the result of f. f
/// selects a kernel by the type of its argument; the value has no meaning. Throws Error if none of the types has the
/// dtype.
template <class T, class... Others, class F>
auto with_type(DType dtype, F f) {
  if (dtype != dtype_of_elements<T>()) {
    if constexpr (sizeof...(Others) > 0)
      return with_type<Others...>(dtype, f);
    else
      throw Error("cuda", "there is no kernel for elements of " + std::string(name_of(dtype)));
  }
  return f(T());
}
/// Calls f, like with_type(), with the element type of a floating-point dtype: HalfBits, BFloatBits or float.
template <class F>
auto with_float_type(DType dtype, F f) {
  return with_type<HalfBits, BFloatBits, float>(dtype, f);
}
/// Calls f, like with_type(), with the unsigned integer type of the dtype's size, for a kernel that only copies
/// elements.
template <class F>
auto with_bits_type(DType dtype, F f) {
  switch (size_of(dtype)) {
    case 1:
      return f(std::uint8_t());
    case 2:
      return f(std::uint16_t());
    case 4:
      return f(std::uint32_t());
    default:
      return f(std::uint64_t());
  }
}

}  // namespace troupe::cuda
