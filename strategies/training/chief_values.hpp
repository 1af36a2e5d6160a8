#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Brings the stores of all processes of a job to the values, optimizer state and position of the chief, which is rank
/// 0 of the group; each process has one rank. Nothing travels but a hash if they are alike already. Broken stores stay
/// as they are. Throws Error if a process does not come within the limit.
void adopt_chief_values(Communicator& group, ParameterStore& store, std::chrono::milliseconds limit);

}  // namespace troupe
