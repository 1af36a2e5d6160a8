#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/step/replica.hpp"

namespace troupe {

/// The outputs of a plan that carry a replica's part of the batches.
struct ReplicaInput {
  ActorId loader = kNone;  ///< the actor whose first outputs are the fields, in order
  OutputRef batch_info = {};
};

/// Adds the loader of a replica. The loader reads the request's data set, or the batches of the request's actor if it
/// has one.
ReplicaInput add_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                       const Replica& replica);

/// Adds the loader of a worker. The loader gets the indices of its samples from `batches`, the dispatcher; see
/// add_batches(). The fields are loaded on the worker's device if `may_be_on_device` and the device keeps them, else on
/// the host.
ReplicaInput add_dispatched_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                                  ActorId batches, const Replica& worker, bool may_be_on_device);

/// Returns the options with which lower() connects the graph of a replica to its input.
LowerOptions lower_options(const Graph& graph, const ReplicaInput& input, const Replica& replica);

}  // namespace troupe
