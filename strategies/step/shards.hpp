#pragma once

#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"

namespace troupe {

/// Returns the host sides of the servers' places, since shards lie in host memory. Throws Error, with the strategy as
/// its place, if there is no server.
std::vector<Place> host_places(const std::string& strategy, const std::vector<Place>& servers);

/// Adds the values that an update changes but does not train, such as optimizer state, as parameters of the plan in the
/// memory of `device`. `parameters` must have the parameters of which the update trains a part; see stored_values().
void add_state(Plan& plan, const Graph& update, std::span<const TrainedParameter> parameters, Device device);
/// Adds the parameters of a step and the optimizer state of their updates to a plan, in host memory. Their replica
/// number is 0.
void add_parameters(Plan& plan, const SplitTraining& step);
/// Orders the parameters of a plan: those of the model come first, in the model's order, also those that are not
/// trained. Start values and hashes depend on the order, which is then that of the other strategies. Call it once the
/// plan has all actors.
void order_parameters(Plan& plan, const SplitTraining& step);

/// Adds a shard, an actor that holds and updates parameters, for each group of the step, and returns the shards.
/// `common` has the options that all shards of the step share. `local_steps`: workers send the change of several steps
/// in place of gradients; see BlockUpdate.
std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                                const ShardOptions& common, bool local_steps = false);

/// The shards of looked-up parameters in a plan. They send workers the rows that the workers look up, and apply the
/// gradients of these rows.
class RowShards {
 public:
  /// Adds a shard, an actor that holds and updates rows of a parameter, for each part of each parameter in
  /// step.looked_up. `common` has the options that all shards of the step share. `step` must outlive this.
  RowShards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers, const ShardOptions& common);

  const std::vector<ActorId>& all() const { return all_; }
  /// Adds, for each parameter with several shards, the actor that joins the rows of all shards for a worker. Returns,
  /// for each parameter in step.looked_up, the output that carries the worker's rows.
  std::vector<OutputRef> add_worker(int worker, const Place& place);
  /// Connects the inputs of the shards and of the actors that add_worker() has added. `batches` is the dispatcher; see
  /// add_batches(). `workers[w]` has the outputs of worker w. Must be called once, after add_worker() for all workers.
  void connect(ActorId batches, const std::vector<WorkerOutputs>& workers);

 private:
  /// A parameter and its shards.
  struct Table {
    const ParameterRows* rows;
    std::vector<ActorId> shards;
    std::vector<ActorId> exchanges;  // by worker: the actor that joins its rows; empty if there is one shard
  };

  Plan& plan_;
  std::vector<Table> tables_;
  std::vector<ActorId> all_;
};

/// Connects the outputs of the leading shard, shards.front(), behind those for the workers to the last inputs of the
/// shards that follow it. The leading shard tells the others which gradients it drops. Does nothing if the leading
/// shard has no outputs for followers, because the consistency rule drops no gradients.
void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers);

}  // namespace troupe
