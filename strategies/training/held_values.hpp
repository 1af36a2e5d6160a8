#pragma once

#include <chrono>
#include <span>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/store_parts.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Copies values that actors of single processes, such as shards, have updated in a run to the stores of all processes
/// of the group, whose rank r is processes[r]. All of them call this. Throws Error if one does not within the limit.
void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit);

/// Copies such values among the stores of the parts in this process; store i belongs to process i. Does nothing while a
/// store is broken.
void join_held_rows(const Stores& stores, const Plan& plan);

}  // namespace troupe
