#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The numbers of all processes, one process after the other; each has as many. The communicator has one rank in each
/// process.
std::vector<std::int64_t> gathered_numbers(Communicator& processes, const std::vector<std::int64_t>& numbers,
                                           std::chrono::milliseconds limit);

}  // namespace troupe
