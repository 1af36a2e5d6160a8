#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/transport/communicator.hpp"

// Exchanges between processes. Each process has one rank of the communicator.

namespace troupe {

/// Returns the numbers of all processes in the order of their ranks. All processes must pass the same number of them.
/// Throws Error if a process has not called it within the limit.
std::vector<std::int64_t> gathered_numbers(Communicator& processes, const std::vector<std::int64_t>& numbers,
                                           std::chrono::milliseconds limit);

/// Returns, at every rank, the bytes of rank `root` as uint8[n]. The bytes that other ranks pass are ignored. Throws
/// Error if one of the two broadcasts takes longer than the limit.
Tensor broadcast_bytes(Communicator& processes, std::span<const std::byte> bytes, int root,
                       std::chrono::milliseconds limit);

}  // namespace troupe
