#pragma once

#include <array>
#include <cstdint>

namespace troupe {

/// Returns 128 random bits by the counter-based generator Philox4x32-10. Source: Salmon, Moraes, Dror and Shaw,
/// "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). The same (key, counter) gives the same bits on any thread
/// and device and in any order.
inline std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const auto product0 = std::uint64_t{0xD2511F53} * counter[0];
    const auto product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// Returns the i-th number of the random stream (seed, stream), a multiple of 2^-24, uniform in [0, 1).
inline float uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  const auto block = i / 4;
  const auto bits = philox(seed, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                  static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)});
  return static_cast<float>(bits[i % 4] >> 8) * 0x1.0p-24F;
}

/// Returns the i-th number of the random stream (seed, stream), uniform in [0, bound): 64 random bits times bound,
/// divided by 2^64 and rounded down.
inline std::uint64_t uniform_below(std::uint64_t bound, std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  const auto bits = philox(seed, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
                                  static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)});
  const auto wide = (std::uint64_t{bits[0]} << 32) | bits[1];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{wide} * bound) >> 64);
}

}  // namespace troupe
