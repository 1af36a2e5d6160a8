#pragma once

#include <chrono>
#include <string>

#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// After a failed run of a plan that several processes share, in which all actors have finished: compares the numbers
/// of updates of all processes. If those of a Lease::Group differ, marks the written copies of the group as broken in
/// all processes, because of `reason`, and throws Error in all processes. `updates` belongs to this process.
/// Collective: every rank of `processes` must call this function. Throws Error if one does not within `limit`.
void break_torn_groups(Communicator& processes, const Lease::UpdatesByGroup& updates, ParameterStore& store,
                       const std::string& reason, std::chrono::milliseconds limit);

}  // namespace troupe
