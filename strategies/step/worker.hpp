#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/batch_dispatcher.hpp"
#include "troupe/strategies/step/replica.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

/// The outputs of a worker's actors in a plan that lead to shards, the actors that hold parameters on servers.
struct WorkerOutputs {
  /// For each group of the step: the worker's block of gradients, or the hook's encoding of it.
  std::vector<OutputRef> gradients;
  /// For each parameter in SplitTraining::looked_up: the indices of the rows that the worker looks up, and the
  /// gradients of these rows.
  std::vector<OutputRef> indices, row_gradients;
};

/// Adds the dispatcher, the actor that chooses the samples of each worker's batches, and returns it. Output 2 w carries
/// the indices of worker w's samples, output 2 w + 1 the batch info (BatchInfo). Throws Error, with the strategy as its
/// place, unless the request has a data set of which every process has all samples.
ActorId add_batches(Plan& plan, const PlanRequest& request, const std::string& strategy, int workers,
                    Dispatch dispatch = Dispatch::parts);

/// Adds the actors of a worker whose parameters lie on shards: the loader of its samples, the ops of its graph, and the
/// sink. `batches` is the dispatcher; see add_batches(). `parameters` has, for each group of the step, the output that
/// carries the group's parameters; `rows` has, for each parameter in step.looked_up, the output that carries its rows.
/// `make_collective` must be set if the worker's graph has a collective op.
WorkerOutputs add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& step, ActorId batches,
                         const std::vector<OutputRef>& parameters, const Replica& worker,
                         const std::vector<OutputRef>& rows = {}, const MakeCollective& make_collective = {});

}  // namespace troupe
