#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/transport/communicator.hpp"

// Exchanges between processes. Each process has one rank of the communicator.

namespace troupe {

/// Returns the numbers that all processes pass, in the order of their ranks. Every process must call this function with
/// equally many numbers. Blocks until all numbers have arrived. Throws Error if this takes longer than the limit.
std::vector<std::int64_t> gathered_numbers(Communicator& processes, const std::vector<std::int64_t>& numbers,
                                           std::chrono::milliseconds limit);

/// Returns, at every rank, the bytes that rank `root` passes, as uint8[n]. Every process must call this function; bytes
/// that other ranks pass are ignored. Blocks until two broadcasts, of the length and of the bytes, are complete. Throws
/// Error if one of them takes longer than the limit.
Tensor broadcast_bytes(Communicator& processes, std::span<const std::byte> bytes, int root,
                       std::chrono::milliseconds limit);

}  // namespace troupe
