#pragma once

#include <cstdint>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace troupe {

/// The floating-point mode of the calling thread: rounding, and whether subnormal numbers are flushed to zero. A thread
/// inherits the mode of the thread that makes it, and a program that is linked with -ffast-math flushes subnormal
/// numbers. Other processors than x86-64 and 64-bit ARM have one mode, 0.
inline std::uint64_t float_mode() {
#ifdef __x86_64__
  return _mm_getcsr();
#elif defined(__aarch64__)
  std::uint64_t mode = 0;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

inline void set_float_mode([[maybe_unused]] std::uint64_t mode) {
#ifdef __x86_64__
  _mm_setcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
#endif
}

/// The mode in which the library computes, so that its results do not depend on the program: rounding to nearest,
/// subnormal numbers are kept, and exceptions are masked.
#ifdef __x86_64__
inline constexpr std::uint64_t kDefaultFloatMode = 0x1F80, kFloatModeBits = 0xFFC0;
#else
inline constexpr std::uint64_t kDefaultFloatMode = 0, kFloatModeBits = ~std::uint64_t{0};
#endif

/// Sets the default floating-point mode of the calling thread, and restores the former mode in the destructor. Costs a
/// few nanoseconds.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : former_(float_mode()) {
    if (is_other()) set_float_mode(kDefaultFloatMode);
  }
  ~DefaultFloatMode() {
    if (is_other()) set_float_mode(former_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  /// The bits that note exceptions are no part of the mode.
  bool is_other() const { return (former_ & kFloatModeBits) != kDefaultFloatMode; }

  std::uint64_t former_;
};

}  // namespace troupe
