#pragma once

#include <cstdint>

namespace emulated_cuda {

/// Random bits for the next thing whose order CUDA leaves open. The sequence begins at EMULATED_CUDA_SEED (default 0);
/// which thread draws which number is up to the schedule.
std::uint64_t next_variation();

/// The same for a sequence of one's own.
std::uint64_t mix(std::uint64_t number);

}  // namespace emulated_cuda
