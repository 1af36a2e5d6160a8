#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/batch_dispatcher.hpp"
#include "troupe/strategies/step/replica.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

/// The outputs of a worker.
struct WorkerOutputs {
  /// For each group of parameters.
  std::vector<OutputRef> gradients;
  /// For each parameter of which rows are looked up: the indices of the rows, and their gradients.
  std::vector<OutputRef> indices, row_gradients;
};

/// Adds the dispatcher, which tells each worker the samples of its batches: outputs 2 w and 2 w + 1 are those of worker
/// w, the second carries the batch info. Throws Error, in the name of the strategy, unless the request has a data set
/// of which every process has all samples.
ActorId add_batches(Plan& plan, const PlanRequest& request, const std::string& strategy, int workers,
                    Dispatch dispatch = Dispatch::parts);

/// Adds loader, graph and sink of a worker whose parameters lie elsewhere. `parameters` has an output for each group of
/// the step, which carries the parameters of the group; `rows` has one for each of step.looked_up.
WorkerOutputs add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& step, ActorId batches,
                         const std::vector<OutputRef>& parameters, const Replica& worker,
                         const std::vector<OutputRef>& rows = {});

}  // namespace troupe
