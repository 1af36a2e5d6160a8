#pragma once

#include <cstdint>

namespace emulated_cuda {

/// Random bits for the next choice of an order that CUDA leaves open. The sequence begins at EMULATED_CUDA_SEED
/// (default 0). The schedule determines which thread gets which number.
std::uint64_t next_variation();

/// Random bits from a number, for a sequence of the caller.
std::uint64_t mix(std::uint64_t number);

}  // namespace emulated_cuda
