#pragma once

#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

/// The host sides of the places of servers: shards lie in host memory. Throws Error, in the name of the strategy, if
/// there is no server.
std::vector<Place> host_places(const std::string& strategy, const std::vector<Place>& servers);

/// Adds what an update of these parameters keeps beside them, such as optimizer state, in the memory of a device.
void add_state(Plan& plan, const Graph& update, std::span<const TrainedParameter> parameters, Device device);
/// Adds the parameters of a step and the optimizer state of their updates to a plan, in host memory, as copy 0.
void add_parameters(Plan& plan, const SplitTraining& step);

/// Options of shard `number` of all shards of a step, groups of parameters first. If the rule drops late gradients,
/// shard 0 leads: all others follow, so that all drop the same ones.
ShardOptions shard_options(const ShardOptions& common, int number);
/// The number of shards that follow shard `number`, 0 unless it leads.
int followers_of(const SplitTraining& step, const ShardOptions& common, int number);

/// Adds a shard for each group of the step. `local_steps`: see BlockUpdate. Returns the shards.
std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                                const ShardOptions& common, bool local_steps = false);
/// Connects the leading shard, shards.front(), with the last inputs of the shards that follow it, if there are any.
void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers);

}  // namespace troupe
