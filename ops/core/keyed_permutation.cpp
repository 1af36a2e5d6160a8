#include "troupe/ops/core/keyed_permutation.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"

namespace troupe {

KeyedPermutation::KeyedPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream)
    : size_(size), keys_{} {
  if (size == 0 || size > std::uint64_t{1} << 63)
    throw Error("keyed_permutation", std::to_string(size) + " is not a size from 1 to 2^63");
  // Halves of fewer bits would leave too few bijections.
  constexpr int kFewestBits = 8;
  const int bits = std::max(kFewestBits, static_cast<int>(std::bit_width(size - 1)));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
  left_mask_ = (std::uint64_t{1} << left_bits_) - 1;
  right_mask_ = (std::uint64_t{1} << right_bits_) - 1;
  for (std::uint32_t i = 0; i < kRounds; i += 4) {
    const auto block =
        philox(seed, {i, 0, static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)});
    std::copy(block.begin(), block.end(), keys_.begin() + i);
  }
}

}  // namespace troupe
