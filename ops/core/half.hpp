#pragma once

#include <bit>
#include <cstdint>

#include "troupe/ops/core/dtype.hpp"

namespace troupe {

/// An IEEE half-precision number. Conversion from float32 rounds to the nearest, ties to even; numbers beyond the range
/// become infinite. The conversions have no branches, so the compiler can vectorize loops of them. Source: F. Giesen,
/// "Float to half conversion" (2012).
class Float16 {
 public:
  Float16() = default;
  explicit Float16(float value) : bits_(bits_of(value)) {}
  explicit operator float() const {
    const std::uint32_t magnitude = (bits_ & 0x7fffU) << 13U;
    const std::uint32_t exponent = magnitude & kExponent;
    // A subnormal half is first read as 2^-14 (1 + fraction). The subtraction of 2^-14 removes the leading 1, which a
    // subnormal number does not have.
    const auto subnormal = std::bit_cast<float>(magnitude + kRebias + (1U << 23U)) - std::bit_cast<float>(113U << 23U);
    const std::uint32_t normal = magnitude + kRebias + (exponent == kExponent ? kToInfinity : 0U);
    const auto result = exponent == 0 ? std::bit_cast<std::uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(result | (static_cast<std::uint32_t>(bits_ & 0x8000U) << 16U));
  }
  Float16& operator+=(Float16 other) { return *this = Float16(static_cast<float>(*this) + static_cast<float>(other)); }

 private:
  static constexpr std::uint32_t kExponent = 0x7c00U << 13U;
  static constexpr std::uint32_t kRebias = (127U - 15U) << 23U;
  static constexpr std::uint32_t kToInfinity = (128U - 16U) << 23U;

  static std::uint16_t bits_of(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const auto sign = all & 0x80000000U;
    const auto magnitude = all ^ sign;
    // The float with the bits kShift is 0.5. Adding 0.5 to a number below the smallest normal half rounds the number
    // and leaves the bits of the subnormal half in the lowest bits of the sum.
    constexpr std::uint32_t kShift = 126U << 23U;
    const auto small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kShift)) - kShift;
    const auto normal = (magnitude - kRebias + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
    const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
    const auto finite = magnitude < (113U << 23U) ? small : normal;
    return static_cast<std::uint16_t>((magnitude >= (143U << 23U) ? large : finite) | (sign >> 16U));
  }

  std::uint16_t bits_ = 0;
};

/// The 16 upper bits of a float32: the range of float32 with 8 bits of precision. Conversion from float32 rounds to the
/// nearest, ties to even.
class BFloat16 {
 public:
  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const auto rounded = (all + 0x7fffU + ((all >> 16U) & 1U)) >> 16U;
    bits_ = static_cast<std::uint16_t>((all & 0x7fffffffU) > 0x7f800000U ? (all >> 16U) | 0x40U : rounded);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16U); }
  BFloat16& operator+=(BFloat16 other) {
    return *this = BFloat16(static_cast<float>(*this) + static_cast<float>(other));
  }

 private:
  std::uint16_t bits_ = 0;
};

template <>
struct DTypeOf<Float16> : std::integral_constant<DType, DType::float16> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::bfloat16> {};

}  // namespace troupe
