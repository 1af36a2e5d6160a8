#pragma once

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// An integer that orders like x among all floats. Both zeros are equal, and NaNs are above all other floats.
__device__ inline std::uint32_t order_of(float x) {
  constexpr std::uint32_t kSign = 0x80000000U;
  // Below the largest integer, so that no candidate has all bits set.
  if (x != x) return 0xfffffffeU;
  const auto bits = __float_as_uint(x + 0.0F);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// A candidate for the largest number: larger for a larger number, and for equal numbers larger at an earlier place.
__device__ inline unsigned long long candidate(float x, std::int64_t place) {
  return static_cast<unsigned long long>(order_of(x)) << 32U | (0xffffffffU - static_cast<std::uint32_t>(place));
}
__device__ inline std::int32_t place_of(unsigned long long candidate) {
  return static_cast<std::int32_t>(0xffffffffU - static_cast<std::uint32_t>(candidate));
}

}  // namespace troupe::cuda
