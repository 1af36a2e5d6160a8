#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/step/replica.hpp"

namespace troupe {

/// The outputs of a plan that carry a replica's part of the batches.
struct ReplicaInput {
  ActorId loader = kNone;  ///< its first outputs are the fields, in order
  OutputRef batch_info = {};
};

/// Adds the loader of a replica: of the data set, or of the batches of an actor if the request has one.
ReplicaInput add_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                       const Replica& replica);

/// Adds the loader of a worker, which gets the indices of its samples from a dispatcher; see add_batches(). Unless
/// `may_be_on_device`, the fields are loaded on the host.
ReplicaInput add_dispatched_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                                  ActorId batches, const Replica& worker, bool may_be_on_device);

/// Options to lower a graph that reads the input.
LowerOptions lower_options(const Graph& graph, const ReplicaInput& input, const Replica& replica);

}  // namespace troupe
