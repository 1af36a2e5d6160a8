#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/batch_dispatcher.hpp"
#include "troupe/strategies/step/replica.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

/// The outputs of a plan that carry what a worker sends to shards.
struct WorkerOutputs {
  /// For each group of the step: the worker's block of gradients, or the hook's encoding of it.
  std::vector<OutputRef> gradients;
  /// For each parameter of which rows are looked up: the indices of the rows, and their gradients.
  std::vector<OutputRef> indices, row_gradients;
};

/// Adds the dispatcher, which chooses the samples of each worker's batches. Output 2 w carries the indices of worker
/// w's samples, output 2 w + 1 the batch info. Throws Error, with the strategy as its place, unless the request has a
/// data set of which every process has all samples.
ActorId add_batches(Plan& plan, const PlanRequest& request, const std::string& strategy, int workers,
                    Dispatch dispatch = Dispatch::parts);

/// Adds loader, graph and sink of a worker whose parameters lie on shards. `parameters` has, for each group of the
/// step, the output that carries the group's parameters; `rows` has, for each parameter in step.looked_up, the output
/// that carries its rows.
WorkerOutputs add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& step, ActorId batches,
                         const std::vector<OutputRef>& parameters, const Replica& worker,
                         const std::vector<OutputRef>& rows = {});

}  // namespace troupe
