#pragma once

#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"

namespace troupe {

/// The host sides of the places of servers: shards lie in host memory. Throws Error, in the name of the strategy, if
/// there is no server.
std::vector<Place> host_places(const std::string& strategy, const std::vector<Place>& servers);

/// Adds what an update of these parameters keeps beside them, such as optimizer state, in the memory of a device.
void add_state(Plan& plan, const Graph& update, std::span<const TrainedParameter> parameters, Device device);
/// Adds the parameters of a step and the optimizer state of their updates to a plan, in host memory, as copy 0.
void add_parameters(Plan& plan, const SplitTraining& step);

/// Adds a shard for each group of the step. `local_steps`: see BlockUpdate. Returns the shards.
std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                                const ShardOptions& common, bool local_steps = false);

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

/// Connects the leading shard, shards.front(), with the last inputs of the shards that follow it, if there are any.
void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers);

}  // namespace troupe
