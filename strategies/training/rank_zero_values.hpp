#pragma once

#include <chrono>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Sets the stores of all processes of a job to the values, optimizer state and position of rank 0 of the group; each
/// process has one rank. Only a hash travels if they are equal already. Broken stores stay unchanged. Throws Error if a
/// process does not call this within the limit.
void adopt_rank_zero_values(Communicator& group, ParameterStore& store, std::chrono::milliseconds limit);

}  // namespace troupe
