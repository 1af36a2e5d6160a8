#pragma once

#include <cstdint>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/replica_parameters.hpp"

namespace troupe {

/// Adds a local shard to a plan: the parameters of one worker, which it updates by itself in rounds of `steps` steps. A
/// round begins with the parameters of the shard behind it. At its end that shard gets their change, as if the local
/// shard were a worker whose gradients take several steps. The last round of a run may be shorter.
///
/// Inputs, connected by the caller: batch infos and gradients of the worker, parameters from the shard behind. Outputs:
/// the parameters, to the worker; the request and the change, to the shard behind. The parameters have memory of the
/// actor's own; optimizer state must be added to the plan.
ActorId add_local_shard(Plan& plan, const std::string& name, const Place& place, int worker, ReplicaUpdate update,
                        std::int64_t steps);

}  // namespace troupe
