#pragma once

#include <chrono>
#include <span>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/transport/communicator.hpp"

// The exchange of parameters and optimizer state between processes, each of which has one rank of the group. All of
// them call a function that takes the group, which throws Error if one does not within the limit.

namespace troupe {

/// Sets the stores of all processes to the values, optimizer state and position of rank 0. Only a hash travels if they
/// are equal already. Broken stores stay unchanged.
void adopt_rank_zero_values(Communicator& group, ParameterStore& store, std::chrono::milliseconds limit);

/// Copies values that actors of single processes, such as shards, have updated in a run to the stores of all processes
/// of the group, whose rank r is processes[r].
void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit);

/// Copies such values among the stores of the parts in this process; store i belongs to process i. Does nothing while a
/// store is broken.
void join_held_rows(const Stores& stores, const Plan& plan);

}  // namespace troupe
