#pragma once

#include <algorithm>
#include <cstdint>

#include "troupe/ops/core/half.hpp"
#include "troupe/ops/cpu/vector16.hpp"

namespace troupe::cpu {

// 32 neighboring bfloat16 numbers as two vectors of floats, the numbers at even and those at odd places: a 32-bit word
// in memory holds one of each, so that one shift or one mask converts 16 numbers. Loops over them need no instructions
// for 16-bit integers, which AVX512F does not have in 512 bits.

/// The number of elements that two vectors hold.
inline constexpr std::int64_t kEvenOdd = 32;

/// 16 words of 32 bits, and the same at any address of 16-bit numbers.
typedef std::uint32_t Words16 __attribute__((vector_size(64)));
typedef std::int32_t SignedWords16 __attribute__((vector_size(64)));
typedef std::uint32_t UnalignedWords16 __attribute__((vector_size(64), aligned(2), may_alias));

/// 16 words of 16 bits, and the same at any address of 16-bit numbers.
typedef std::uint16_t Halves16 __attribute__((vector_size(32)));
typedef std::uint16_t UnalignedHalves16 __attribute__((vector_size(32), aligned(2), may_alias));

/// The elements at even and at odd places.
struct EvenOdd {
  Vector16 even, odd;
};

/// Loads 16 numbers one after the other.
[[gnu::always_inline]] inline void load(const BFloat16* from, Vector16& numbers) {
  const Halves16 halves = *reinterpret_cast<const UnalignedHalves16*>(from);
  numbers = reinterpret_cast<Vector16>(__builtin_convertvector(halves, Words16) << 16);
}
[[gnu::always_inline]] inline void load(const BFloat16* from, EvenOdd& numbers) {
  const Words16 words = *reinterpret_cast<const UnalignedWords16*>(from);
  numbers.even = reinterpret_cast<Vector16>(words << 16);
  numbers.odd = reinterpret_cast<Vector16>(words & 0xFFFF0000U);
}
[[gnu::always_inline]] inline void load(const float* from, EvenOdd& numbers) {
  const Vector16 first = vector_at(from), second = vector_at(from + 16);
  numbers.even = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  numbers.odd = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/// Sets words to those whose upper halves are the numbers, rounded like BFloat16(float).
[[gnu::always_inline]] inline void round(const Vector16& numbers, Words16& words) {
  words = reinterpret_cast<Words16>(numbers);
  const Words16 nearest = words + 0x7FFFU + ((words >> 16) & 1U);
  // All bits of a NaN's word are set. A comparison of such vectors would become scalar code in narrower registers.
  const auto is_nan =
      reinterpret_cast<Words16>((0x7F800000 - reinterpret_cast<SignedWords16>(words & 0x7FFFFFFFU)) >> 31);
  words = (nearest & ~is_nan) | ((words | 0x400000U) & is_nan);
}
/// Stores 16 rounded numbers one after the other.
[[gnu::always_inline]] inline void store(const Vector16& numbers, BFloat16* to) {
  Words16 words;
  round(numbers, words);
  *reinterpret_cast<UnalignedHalves16*>(to) = __builtin_convertvector(words >> 16, Halves16);
}
[[gnu::always_inline]] inline void store(const EvenOdd& numbers, BFloat16* to) {
  Words16 even, odd;
  round(numbers.even, even);
  round(numbers.odd, odd);
  *reinterpret_cast<UnalignedWords16*>(to) = (even >> 16) | (odd & 0xFFFF0000U);
}
[[gnu::always_inline]] inline void store(const EvenOdd& numbers, float* to) {
  vector_at(to) =
      __builtin_shufflevector(numbers.even, numbers.odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  vector_at(to + 16) =
      __builtin_shufflevector(numbers.even, numbers.odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Sets all bits of the words of positive numbers, which lie between 1 and that of infinity, and clears all others.
[[gnu::always_inline]] inline void mask_positive(Words16& words) {
  const Words16 below = words - 1U;
  words = reinterpret_cast<Words16>(reinterpret_cast<SignedWords16>((below - 0x7F800000U) & ~below) >> 31);
}
/// Sets numbers to 0 where the condition is not above 0.
[[gnu::always_inline]] inline void keep_where_positive(const Vector16& condition, Vector16& numbers) {
  auto mask = reinterpret_cast<Words16>(condition);
  mask_positive(mask);
  numbers = reinterpret_cast<Vector16>(reinterpret_cast<Words16>(numbers) & mask);
}
/// Sets negative numbers to 0. NaN and -0 stay.
[[gnu::always_inline]] inline void clear_where_negative(Vector16& numbers) {
  const auto words = reinterpret_cast<Words16>(numbers);
  Words16 mask = words ^ 0x80000000U;
  mask_positive(mask);
  numbers = reinterpret_cast<Vector16>(words & ~mask);
}

/// Sets first[i] and second[i] to the sums of two terms of element i of `runs` runs of n elements, a multiple of
/// kEvenOdd.
/// `terms_at(i)` returns the terms of the elements i to i + kEvenOdd of every run: a function with the parameters
/// (begin, a, b) that adds the terms of the elements from `begin` on to a and b.
template <class TermsAt>
[[gnu::always_inline]] inline void add_runs_of_pairs(std::int64_t n, std::int64_t runs, float* first, float* second,
                                                     TermsAt terms_at) {
  for (std::int64_t i = 0; i < n; i += kEvenOdd) {
    const auto terms = terms_at(i);
    EvenOdd a{}, b{};
    for (std::int64_t run = 0; run < runs; ++run) terms(run * n + i, a, b);
    store(a, first + i);
    store(b, second + i);
  }
}

/// Computes all elements of `runs` runs of n elements, a multiple of kEvenOdd. `compute_at(i)` returns a function with
/// the parameter (begin) that computes the elements from `begin` on, for the elements i to i + kEvenOdd of every run.
template <class ComputeAt>
[[gnu::always_inline]] inline void compute_pairs(std::int64_t n, std::int64_t runs, ComputeAt compute_at) {
  // Runs in blocks, which stay in the nearest cache for all i.
  constexpr std::int64_t kRuns = 64;
  for (std::int64_t block = 0; block < runs; block += kRuns)
    for (std::int64_t i = 0; i < n; i += kEvenOdd) {
      const auto compute = compute_at(i);
      for (std::int64_t run = block; run < std::min(runs, block + kRuns); ++run) compute(run * n + i);
    }
}

}  // namespace troupe::cpu
