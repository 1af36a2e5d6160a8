#pragma once

#include "emulated/float16_bits.h"
#include "emulated/qualifiers.h"
#include "emulated/vector_types.h"

struct __half_raw {
  unsigned short x;
};

/// Arithmetic uses float and rounds once, which gives the device's results.
struct __half {
  unsigned short __x;

  __half() = default;
  constexpr __half(const __half_raw& raw) : __x(raw.x) {}
  constexpr __half(float value) : __x(emulated_cuda::half_bits(value)) {}
  constexpr __half(double value) : __x(emulated_cuda::half_bits(static_cast<float>(value))) {}
  constexpr __half(int value) : __x(emulated_cuda::half_bits(static_cast<float>(value))) {}
  constexpr __half(unsigned value) : __x(emulated_cuda::half_bits(static_cast<float>(value))) {}
  constexpr __half(long long value) : __x(emulated_cuda::half_bits(static_cast<float>(value))) {}
  constexpr operator float() const { return emulated_cuda::half_value(__x); }
  constexpr operator __half_raw() const { return {__x}; }
};

struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  constexpr __half2(__half first, __half second) : x(first), y(second) {}
};

constexpr __half __float2half(float value) {
  return __half(value);
}
constexpr __half __float2half_rn(float value) {
  return __half(value);
}
constexpr float __half2float(__half value) {
  return value;
}
constexpr __half __ushort_as_half(unsigned short bits) {
  return __half(__half_raw{bits});
}
constexpr unsigned short __half_as_ushort(__half value) {
  return value.__x;
}
constexpr __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
constexpr __half2 __floats2half2_rn(float x, float y) {
  return {__half(x), __half(y)};
}
constexpr __half2 __float22half2_rn(float2 value) {
  return {__half(value.x), __half(value.y)};
}
constexpr float2 __half22float2(__half2 value) {
  return {value.x, value.y};
}
constexpr __half __low2half(__half2 value) {
  return value.x;
}
constexpr __half __high2half(__half2 value) {
  return value.y;
}
constexpr float __low2float(__half2 value) {
  return value.x;
}
constexpr float __high2float(__half2 value) {
  return value.y;
}
constexpr bool __hisnan(__half value) {
  return (value.__x & 0x7fff) > 0x7c00;
}

constexpr __half operator+(__half a, __half b) {
  return __half(static_cast<float>(a) + static_cast<float>(b));
}
constexpr __half operator-(__half a, __half b) {
  return __half(static_cast<float>(a) - static_cast<float>(b));
}
constexpr __half operator*(__half a, __half b) {
  return __half(static_cast<float>(a) * static_cast<float>(b));
}
constexpr __half operator/(__half a, __half b) {
  return __half(static_cast<float>(a) / static_cast<float>(b));
}
constexpr __half operator-(__half a) {
  return __half(__half_raw{static_cast<unsigned short>(a.__x ^ 0x8000)});
}
constexpr __half& operator+=(__half& a, __half b) {
  return a = a + b;
}
constexpr __half& operator*=(__half& a, __half b) {
  return a = a * b;
}
constexpr bool operator==(__half a, __half b) {
  return static_cast<float>(a) == static_cast<float>(b);
}
constexpr bool operator!=(__half a, __half b) {
  return static_cast<float>(a) != static_cast<float>(b);
}
constexpr bool operator<(__half a, __half b) {
  return static_cast<float>(a) < static_cast<float>(b);
}
constexpr bool operator>(__half a, __half b) {
  return static_cast<float>(a) > static_cast<float>(b);
}
constexpr bool operator<=(__half a, __half b) {
  return static_cast<float>(a) <= static_cast<float>(b);
}
constexpr bool operator>=(__half a, __half b) {
  return static_cast<float>(a) >= static_cast<float>(b);
}

typedef __half half;
typedef __half2 half2;
