#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/transport/communicator.hpp"

// Exchanges between processes, each of which has one rank of the communicator.

namespace troupe {

/// The numbers of all processes, one process after the other; each has as many.
std::vector<std::int64_t> gathered_numbers(Communicator& processes, const std::vector<std::int64_t>& numbers,
                                           std::chrono::milliseconds limit);

/// The bytes of rank `root`, as uint8[n]. Those of the other ranks are ignored.
Tensor broadcast_bytes(Communicator& processes, std::span<const std::byte> bytes, int root,
                       std::chrono::milliseconds limit);

}  // namespace troupe
