#pragma once

#include <array>
#include <cstdint>

namespace troupe {

/// A permutation of the numbers 0 to size - 1 that is drawn by a key and computed number by number, in constant memory.
/// A bijection of all numbers of as many bits, made of 24 rounds, is applied until the result is below the size.
/// Sources: R. Mitchell et al., "Bandwidth-optimal random shuffling for GPUs" (2022), for the rounds, which they call
/// VariablePhilox; J. Black and P. Rogaway, "Ciphers with arbitrary finite domains" (2002), for the repetition.
class KeyedPermutation {
 public:
  /// Draws the permutation number `stream` of a seed. Throws Error unless `size` is in [1, 2^63].
  KeyedPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream);

  std::uint64_t size() const { return size_; }
  /// The number at `position`, which must be below size(). Applies the bijection twice on average at most, and below
  /// 256 numbers 256 / size() times.
  std::uint64_t operator()(std::uint64_t position) const {
    do {
      position = mixed(position);
    } while (position >= size_);
    return position;
  }

 private:
  static constexpr int kRounds = 24;
  /// The odd multiplier of Philox-2x64. Source: Salmon and others, 2011.
  static constexpr std::uint64_t kMultiplier = 0xD2B74407B1CE6E93;

  /// Applies the bijection to a number of left_bits_ + right_bits_ bits.
  std::uint64_t mixed(std::uint64_t number) const {
    __extension__ using Wide = unsigned __int128;
    auto left = number >> right_bits_, right = number & right_mask_;
    for (const auto key : keys_) {
      const auto product = Wide{kMultiplier} * left;
      const auto low = static_cast<std::uint64_t>(product), high = static_cast<std::uint64_t>(product >> 64);
      left = (high ^ key ^ right) & left_mask_;
      right = (low << (right_bits_ - left_bits_) | right >> left_bits_) & right_mask_;
    }
    return left << right_bits_ | right;
  }

  std::uint64_t size_;
  int left_bits_, right_bits_;  // the right half has as many bits as the left one, or one more
  std::uint64_t left_mask_, right_mask_;
  std::array<std::uint32_t, kRounds> keys_;
};

}  // namespace troupe
