#pragma once

#include <chrono>
#include <span>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/transport/communicator.hpp"

// The exchange of parameters and optimizer state between processes. The functions that take a group are collective: the
// group has one rank in each process that holds parameters, and all ranks must call the function. A function throws
// Error if a rank does not call it within `limit`.

namespace troupe {

/// Sets the stores of all processes to the newest values: of each parameter and optimizer state the version with the
/// most updates, that of the lowest rank if several ranks have one. The positions of the trainers become those of the
/// lowest rank with the most updates of any value. If the stores are equal already, only their hashes are exchanged.
/// Rank r of the group is process processes[r]. Throws Error in all processes, and changes no store, if a failed run
/// has left broken copies in the store of one of them.
void adopt_newest_values(Communicator& group, std::span<const int> processes, ParameterStore& store,
                         std::chrono::milliseconds limit);

/// After a run of `plan`, copies the values that actors such as shards, or ops, have updated in some processes to the
/// stores of the other processes of the group. Rank r of the group is process processes[r]. Throws Error in
/// all processes, and changes no store, if such a value lies in a process outside of the group, or is missing or broken
/// in its process.
void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit);

/// After a run of a plan whose parts are all in this process, joins the rows of each parameter that actors of several
/// parts have updated, and writes them to all stores. stores[i] belongs to part i. Does nothing if a store has broken
/// copies.
void join_held_rows(const Stores& stores, const Plan& plan);

}  // namespace troupe
