#pragma once

#include <chrono>
#include <span>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/store_parts.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// After a run: brings what actors of single processes have updated, such as shards, to the stores of all processes of
/// the group, whose rank r lives in processes[r]. All of them call it. Throws Error if one does not come within the
/// limit.
void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit);

/// The same among the stores of parts in this process, of which store i is that of process i. Nothing is done while one
/// of them is broken.
void join_held_rows(const Stores& stores, const Plan& plan);

/// Brings what the shards of all processes of the group did in the last run to the recording of rank 0. All of them
/// call it. Throws Error if one does not come within the limit.
void gather_recording(Communicator& group, Recording& recording, std::chrono::milliseconds limit);

}  // namespace troupe
