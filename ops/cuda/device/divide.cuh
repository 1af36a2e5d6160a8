#pragma once

#include <bit>
#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// Division by a divisor that is set on the host, before the launch. If the divisor and the bound of the dividends are
/// at most 2^31, the device multiplies and shifts instead of dividing. Source: Granlund and Montgomery, "Division by
/// invariant integers using multiplication" (PLDI 1994), figure 4.1.
class Divisor {
 public:
  Divisor() = default;
  /// Prepares the division of numbers that are at least 0 and below `bound`. `divisor` must be positive.
  Divisor(std::int64_t divisor, std::int64_t bound) : divisor_(divisor) {
    if (bound > kNarrow || divisor > kNarrow) return;
    const auto d = static_cast<std::uint64_t>(divisor);
    shift_ = static_cast<int>(std::bit_width(d - 1));
    multiplier_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - d) << 32U) / d + 1);
  }

  __device__ std::int64_t divisor() const { return divisor_; }
  /// Returns n / divisor, rounded down. n must be at least 0 and below the bound.
  __device__ std::int64_t quotient(std::int64_t n) const {
    if (multiplier_ == 0) return n / divisor_;
    const auto narrow = static_cast<std::uint32_t>(n);
    return (__umulhi(narrow, multiplier_) + narrow) >> shift_;
  }

 private:
  static constexpr std::int64_t kNarrow = std::int64_t{1} << 31;

  std::int64_t divisor_ = 1;
  std::uint32_t multiplier_ = 0;  // 0: the numbers are too large, so quotient() divides
  int shift_ = 0;
};

/// Converts between the index of an element of a row-major array with four axes and its coordinates a, b, c and d.
class Split {
 public:
  struct Coordinates {
    std::int64_t a, b, c, d;
  };

  /// Takes the sizes of the three inner axes, outermost first. All indices must be below `bound`.
  Split(std::int64_t b_size, std::int64_t c_size, std::int64_t d_size, std::int64_t bound)
      : b_(b_size, bound), c_(c_size, bound), d_(d_size, bound) {}

  /// Returns the coordinates of the element with the index i = ((a * b_size + b) * c_size + c) * d_size + d.
  __device__ Coordinates operator()(std::int64_t i) const {
    const auto to_c = d_.quotient(i), to_b = c_.quotient(to_c), a = b_.quotient(to_b);
    return {a, to_b - a * b_.divisor(), to_c - to_b * c_.divisor(), i - to_c * d_.divisor()};
  }
  /// Returns the index of the element at the coordinates.
  __device__ std::int64_t at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return ((a * b_.divisor() + b) * c_.divisor() + c) * d_.divisor() + d;
  }

 private:
  Divisor b_, c_, d_;
};

}  // namespace troupe::cuda
