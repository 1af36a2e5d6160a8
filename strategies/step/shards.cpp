#include "troupe/strategies/step/shards.hpp"

#include <algorithm>

#include "troupe/actors/shard/block_shard.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr Device kHost{DeviceType::cpu, 0};

bool has_leader(const ShardOptions& common) {
  return common.rule.late == LateGradients::dropped;
}

}  // namespace

std::vector<Place> host_places(const std::string& strategy, const std::vector<Place>& servers) {
  if (servers.empty()) throw Error(strategy, "needs at least one server");
  std::vector<Place> places(servers.size());
  std::ranges::transform(servers, places.begin(), host_side);
  return places;
}

void add_state(Plan& plan, const Graph& update, std::span<const TrainedParameter> parameters, Device device) {
  for (auto& [parameter, rows] : stored_values(update, parameters)) {
    if (parameter.trainable) continue;
    parameter.device = device;
    plan.add_parameter(std::move(parameter));
  }
}

/// The parameters of the model come first, in its order: start values and hashes follow from the order.
void add_parameters(Plan& plan, const SplitTraining& step) {
  for (const auto& [name, info, initializer, part_of, row_sparse] : step.parameters)
    plan.add_parameter({{name, 0}, info, kHost, initializer, true});
  for (const auto& group : step.groups) add_state(plan, group.update, group.parameters, kHost);
  for (const auto& rows : step.looked_up) add_state(plan, rows.update, std::span(&rows.chunk, 1), kHost);
}

ShardOptions shard_options(const ShardOptions& common, int number) {
  auto options = common;
  options.follows = has_leader(common) && number > 0;
  return options;
}

int followers_of(const SplitTraining& step, const ShardOptions& common, int number) {
  return has_leader(common) && number == 0 ? static_cast<int>(step.shards()) - 1 : 0;
}

std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                                const ShardOptions& common, bool local_steps) {
  std::vector<ActorId> shards;
  for (const auto& group : step.groups) {
    BlockUpdate block{group.update, {}, {}, group.decode, local_steps};
    for (const auto& parameter : group.parameters) block.parameters.push_back(parameter.name);
    for (const auto& stored : stored_values(group.update, group.parameters))
      block.held.push_back({stored.parameter.ref, true, stored.rows});
    const auto number = static_cast<int>(shards.size());
    shards.push_back(add_block_shard(plan, "shard@" + std::to_string(number), servers[group.server],
                                     shard_options(common, number), block, followers_of(step, common, number)));
  }
  return shards;
}

void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers) {
  const auto outputs = static_cast<std::int32_t>(plan.actor(shards.front()).outputs.size());
  for (auto output = workers; output < outputs; ++output)
    plan.connect(shards.front(), output, shards[static_cast<std::size_t>(output - workers) + 1]);
}

}  // namespace troupe
