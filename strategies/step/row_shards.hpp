#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"

namespace troupe {

/// The part of a plan that sends workers the rows that they look up, and applies the gradients of these rows.
class RowShards {
 public:
  /// Adds shards for all parts of step.looked_up. `common`: the options of all shards of the step. `step` must outlive
  /// this.
  RowShards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers, const ShardOptions& common);

  const std::vector<ActorId>& all() const { return all_; }
  /// Adds the actors that send a worker its rows. Returns the rows of each parameter in step.looked_up.
  std::vector<OutputRef> add_worker(int worker, const Place& place);
  /// Connects the shards with all workers, in the order of their numbers.
  void connect(ActorId batches, const std::vector<WorkerOutputs>& workers);

 private:
  /// A parameter and its shards.
  struct Table {
    const ParameterRows* rows;
    std::vector<ActorId> shards;
    std::vector<ActorId> exchanges;  // by worker; empty if there is one shard
  };

  Plan& plan_;
  std::vector<Table> tables_;
  std::vector<ActorId> all_;
};

}  // namespace troupe
