#include "troupe/strategies/step/shards.hpp"

#include <algorithm>

#include "troupe/actors/shard/block_shard.hpp"
#include "troupe/actors/shard/row_shard.hpp"
#include "troupe/actors/shard/update_count.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Returns the options of shard `number`, and the number of shards that follow it. Shards are numbered over the whole
/// step, those of groups first. If the rule drops late gradients, shard 0 leads and all other shards follow it, so that
/// all of them drop the same gradients.
std::pair<ShardOptions, int> with_followers(const SplitTraining& step, ShardOptions options, std::size_t number) {
  const bool has_leader = options.rule.late == LateGradients::dropped;
  options.follows = has_leader && number > 0;
  return {options, has_leader && number == 0 ? static_cast<int>(step.shards()) - 1 : 0};
}

/// Returns the copy of a value that the shard of some rows of a looked-up parameter holds: these rows, or, of a value
/// without rows, a copy of its own; see stored_values().
HeldParameter held_by_rows(const StoredValue& stored, const RowRange& rows, bool equal_updates) {
  if (stored.rows) return {stored.parameter.ref, true, rows, equal_updates};
  return {{stored.parameter.ref.name, static_cast<int>(rows.first)}, true};
}

/// Adds the copy of shard `number` of the trainer's UpdateCount to the plan, and returns it.
HeldParameter update_count_of(Plan& plan, const SplitTraining& step, const char* kind, std::size_t number) {
  const ParameterRef copy{UpdateCount::name_of(kind, step.trainer), static_cast<int>(number)};
  plan.add_parameter({copy, UpdateCount::info(), Device{}, Initializer::zeros()});
  return {copy, true};
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

void order_parameters(Plan& plan, const SplitTraining& step) {
  const auto place = [&](const PlanParameter& parameter) {
    return std::ranges::find(step.names, parameter.ref.name) - step.names.begin();
  };
  std::ranges::stable_sort(plan.parameters, {}, place);
}

void add_parameters(Plan& plan, const SplitTraining& step) {
  for (const auto& [name, info, initializer, part_of, row_sparse] : step.parameters)
    plan.add_parameter({{name, 0}, info, Device{}, initializer, true});
  for (const auto& group : step.groups) add_state(plan, group.update, group.parameters, Device{});
  for (const auto& rows : step.looked_up)
    for (auto& [parameter, rows_of_chunk] : stored_values(rows.update, std::span(&rows.chunk, 1))) {
      if (parameter.trainable) continue;
      for (const auto& part : rows.parts) {
        if (!rows_of_chunk) parameter.ref.replica = static_cast<int>(part.rows.first);
        plan.add_parameter(parameter);
      }
    }
}

std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                                const ShardOptions& common, bool local_steps) {
  std::vector<ActorId> shards;
  for (const auto& group : step.groups) {
    BlockUpdate block{group.update, {}, {}, group.decode, local_steps};
    for (const auto& parameter : group.parameters) block.parameters.push_back(parameter.name);
    for (const auto& stored : stored_values(group.update, group.parameters))
      block.held.push_back({stored.parameter.ref, true, stored.rows, common.shared_steps});
    const auto* const kind = local_steps ? UpdateCount::kOfChanges : UpdateCount::kOfGradients;
    if (common.counts_updates) block.held.push_back(update_count_of(plan, step, kind, shards.size()));
    const auto [options, followers] = with_followers(step, common, shards.size());
    shards.push_back(add_block_shard(plan, "shard@" + std::to_string(shards.size()), servers[group.server], options,
                                     block, followers));
  }
  return shards;
}

RowShards::RowShards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                     const ShardOptions& common)
    : plan_(plan) {
  for (const auto& rows : step.looked_up) {
    auto& table = tables_.emplace_back();
    table.rows = &rows;
    for (const auto& [range, server] : rows.parts) {
      RowUpdate update{rows.lookup, rows.update, rows.chunk.name, {}};
      for (const auto& stored : stored_values(rows.update, std::span(&rows.chunk, 1)))
        update.held.push_back(held_by_rows(stored, range, common.shared_steps));
      const auto number = step.groups.size() + all_.size();
      if (common.counts_updates) update.held.push_back(update_count_of(plan, step, UpdateCount::kOfGradients, number));
      const auto name = "shard@" + rows.parameter.name + "." + std::to_string(range.first);
      const auto [options, followers] = with_followers(step, common, number);
      table.shards.push_back(add_row_shard(plan, name, servers[server], options, update, followers));
      all_.push_back(table.shards.back());
    }
  }
}

std::vector<OutputRef> RowShards::add_worker(int worker, const Place& place) {
  std::vector<OutputRef> rows;
  for (auto& table : tables_) {
    if (table.shards.size() == 1) {
      rows.push_back({table.shards.front(), worker});
      continue;
    }
    const auto name = "rows@" + std::to_string(worker) + "." + table.rows->parameter.name;
    std::vector<RowRange> ranges;
    for (const auto& part : table.rows->parts) ranges.push_back(part.rows);
    table.exchanges.push_back(add_row_exchange(plan_, name, host_side(place), worker, table.rows->lookup, ranges));
    rows.push_back({table.exchanges.back(), 0});
  }
  return rows;
}

void RowShards::connect(ActorId batches, const std::vector<WorkerOutputs>& workers) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const auto& table = tables_[t];
    for (std::size_t w = 0; w < table.exchanges.size(); ++w) {
      plan_.connect(workers[w].indices[t], table.exchanges[w]);
      plan_.connect(workers[w].row_gradients[t], table.exchanges[w]);
      for (const auto shard : table.shards) plan_.connect(shard, static_cast<std::int32_t>(w), table.exchanges[w]);
    }
    for (std::size_t s = 0; s < table.shards.size(); ++s) {
      const auto shard = table.shards[s];
      for (std::size_t w = 0; w < workers.size(); ++w)
        plan_.connect(batches, 2 * static_cast<std::int32_t>(w) + 1, shard);
      for (std::size_t w = 0; w < workers.size(); ++w) {
        const auto& gradients = workers[w].row_gradients[t];
        const auto output = 1 + static_cast<std::int32_t>(s);
        plan_.connect(table.exchanges.empty() ? gradients : OutputRef{table.exchanges[w], output}, shard);
      }
      for (const auto& worker : workers) plan_.connect(worker.indices[t], shard);
    }
  }
}

void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers) {
  const auto outputs = static_cast<std::int32_t>(plan.actor(shards.front()).outputs.size());
  for (auto output = workers; output < outputs; ++output)
    plan.connect(shards.front(), output, shards[static_cast<std::size_t>(output - workers) + 1]);
}

}  // namespace troupe
