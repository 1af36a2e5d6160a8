#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// Element type of a tensor. CPU kernels that compute in float16 or bfloat16 convert to float32, except
/// products and convolutions of bfloat16 on processors with instructions for them.
enum class DType : std::uint8_t { float32, int32, int64, uint8, float16, bfloat16 };

constexpr bool is_16_bit(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}
constexpr bool is_float(DType dtype) {
  return dtype == DType::float32 || is_16_bit(dtype);
}

/// Bytes of one element; 0 if `dtype` is none of the enumerators, such as a number that was read from a file.
constexpr std::size_t size_of(DType dtype) {
  constexpr std::size_t kSizes[] = {4, 4, 8, 1, 2, 2};
  const auto number = static_cast<std::size_t>(dtype);
  return number < std::size(kSizes) ? kSizes[number] : 0;
}

/// The name of a dtype; "unknown" if `dtype` is none of the enumerators.
constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view kNames[] = {"float32", "int32", "int64", "uint8", "float16", "bfloat16"};
  const auto number = static_cast<std::size_t>(dtype);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

/// The dtype of a name; nothing if there is none.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (std::uint8_t number = 0; size_of(DType{number}) > 0; ++number)
    if (name == name_of(DType{number})) return DType{number};
  return std::nullopt;
}

/// DTypeOf<T>::value is the dtype of the C++ type T. half.hpp adds the 16-bit floats.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::float32> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<DType, DType::int32> {};
template <>
struct DTypeOf<std::int64_t> : std::integral_constant<DType, DType::int64> {};
template <>
struct DTypeOf<std::uint8_t> : std::integral_constant<DType, DType::uint8> {};

/// Calls f with a null pointer of type T*, where T is the C++ type of the dtype, and returns the result of f. Throws
/// Error for a 16-bit float, which has no such type.
template <class F>
decltype(auto) with_element_type(DType dtype, F f) {
  switch (dtype) {
    case DType::int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case DType::int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case DType::uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case DType::float32:
      return f(static_cast<float*>(nullptr));
    default:
      throw Error("dtype", std::string(name_of(dtype)) + " has no element type here");
  }
}

}  // namespace troupe
