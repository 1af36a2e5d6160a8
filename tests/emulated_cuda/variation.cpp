#include "troupe/tests/emulated_cuda/variation.hpp"

#include <atomic>
#include <cstdlib>

namespace emulated_cuda {

// The output function of SplitMix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
// (2014).
std::uint64_t mix(std::uint64_t number) {
  number *= 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

std::uint64_t next_variation() {
  static std::atomic<std::uint64_t> next = [] {
    const char* seed = std::getenv("EMULATED_CUDA_SEED");
    return seed ? std::strtoull(seed, nullptr, 10) << 32 : 0;
  }();
  return mix(next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace emulated_cuda
