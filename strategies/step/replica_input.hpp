#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/step/replica.hpp"

namespace troupe {

/// The actor of a plan that sends a replica its part of each batch, and the output that carries the batch info
/// (BatchInfo) of this part, which may be another actor's.
struct ReplicaInput {
  ActorId loader = kNone;  ///< the actor whose output i carries field i of the fields that were asked for
  OutputRef batch_info = {};
};

/// Adds the loader of a replica, which sends `fields` of the replica's part of each batch. The loader reads the
/// request's data set, or divides the batches of the actor PlanRequest::batches if it is set; this actor is added once
/// for all replicas. Throws Error if another actor of the plan has the name of that actor.
ReplicaInput add_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                       const Replica& replica);

/// Adds the loader of a worker, which sends `fields` of the worker's samples. The loader gets the indices of the
/// samples from `batches`, the dispatcher; see add_batches(). The fields are loaded on the worker's device if
/// `may_be_on_device` and the device keeps them in its memory, else on the host.
ReplicaInput add_dispatched_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                                  ActorId batches, const Replica& worker, bool may_be_on_device);

/// Returns the options with which lower() adds the graph of a replica to a plan and connects it to its input. The
/// outputs of `input.loader` must be the fields that the graph reads; see fields_read().
LowerOptions lower_options(const Graph& graph, const ReplicaInput& input, const Replica& replica);

}  // namespace troupe
