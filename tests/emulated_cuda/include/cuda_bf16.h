#pragma once

#include "emulated/float16_bits.h"
#include "emulated/qualifiers.h"
#include "emulated/vector_types.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};

/// Arithmetic uses float and rounds once, which gives the device's results.
struct __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(const __nv_bfloat16_raw& raw) : __x(raw.x) {}
  constexpr __nv_bfloat16(float value) : __x(emulated_cuda::bfloat16_bits(value)) {}
  constexpr __nv_bfloat16(double value) : __x(emulated_cuda::bfloat16_bits(static_cast<float>(value))) {}
  constexpr __nv_bfloat16(int value) : __x(emulated_cuda::bfloat16_bits(static_cast<float>(value))) {}
  constexpr __nv_bfloat16(unsigned value) : __x(emulated_cuda::bfloat16_bits(static_cast<float>(value))) {}
  constexpr __nv_bfloat16(long long value) : __x(emulated_cuda::bfloat16_bits(static_cast<float>(value))) {}
  constexpr operator float() const { return emulated_cuda::bfloat16_value(__x); }
  constexpr operator __nv_bfloat16_raw() const { return {__x}; }
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162() = default;
  constexpr __nv_bfloat162(__nv_bfloat16 first, __nv_bfloat16 second) : x(first), y(second) {}
};

constexpr __nv_bfloat16 __float2bfloat16(float value) {
  return __nv_bfloat16(value);
}
constexpr __nv_bfloat16 __float2bfloat16_rn(float value) {
  return __nv_bfloat16(value);
}
constexpr float __bfloat162float(__nv_bfloat16 value) {
  return value;
}
constexpr __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16(__nv_bfloat16_raw{bits});
}
constexpr unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
  return value.__x;
}
constexpr __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
constexpr __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
constexpr __nv_bfloat162 __float22bfloat162_rn(float2 value) {
  return {__nv_bfloat16(value.x), __nv_bfloat16(value.y)};
}
constexpr float2 __bfloat1622float2(__nv_bfloat162 value) {
  return {value.x, value.y};
}
constexpr __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value) {
  return value.x;
}
constexpr __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value) {
  return value.y;
}
constexpr float __low2float(__nv_bfloat162 value) {
  return value.x;
}
constexpr float __high2float(__nv_bfloat162 value) {
  return value.y;
}
constexpr bool __hisnan(__nv_bfloat16 value) {
  return (value.__x & 0x7fff) > 0x7f80;
}

constexpr __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(static_cast<float>(a) + static_cast<float>(b));
}
constexpr __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(static_cast<float>(a) - static_cast<float>(b));
}
constexpr __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(static_cast<float>(a) * static_cast<float>(b));
}
constexpr __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(static_cast<float>(a) / static_cast<float>(b));
}
constexpr __nv_bfloat16 operator-(__nv_bfloat16 a) {
  return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(a.__x ^ 0x8000)});
}
constexpr __nv_bfloat16& operator+=(__nv_bfloat16& a, __nv_bfloat16 b) {
  return a = a + b;
}
constexpr __nv_bfloat16& operator*=(__nv_bfloat16& a, __nv_bfloat16 b) {
  return a = a * b;
}
constexpr bool operator==(__nv_bfloat16 a, __nv_bfloat16 b) {
  return static_cast<float>(a) == static_cast<float>(b);
}
constexpr bool operator!=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return static_cast<float>(a) != static_cast<float>(b);
}
constexpr bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) {
  return static_cast<float>(a) < static_cast<float>(b);
}
constexpr bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) {
  return static_cast<float>(a) > static_cast<float>(b);
}
constexpr bool operator<=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return static_cast<float>(a) <= static_cast<float>(b);
}
constexpr bool operator>=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return static_cast<float>(a) >= static_cast<float>(b);
}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
