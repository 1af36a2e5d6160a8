#pragma once

#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// Four numbers of 32 bits.
struct RandomBits {
  std::uint32_t words[4];
};

/// Philox4x32-10 of ops/core/random.hpp. The same key and counter give the same bits as on the host.
__device__ inline RandomBits philox(std::uint64_t key, RandomBits counter) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32U);
  auto& c = counter.words;
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = __umulhi(0xD2511F53U, c[0]), low0 = 0xD2511F53U * c[0];
    const std::uint32_t high1 = __umulhi(0xCD9E8D57U, c[2]), low1 = 0xCD9E8D57U * c[2];
    counter = {{high1 ^ c[1] ^ key0, low1, high0 ^ c[3] ^ key1, low0}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace troupe::cuda
