#include "troupe/strategies/step/row_shards.hpp"

#include "troupe/actors/shard/row_shard.hpp"
#include "troupe/strategies/step/shards.hpp"

namespace troupe {

RowShards::RowShards(Plan& plan, const SplitTraining& step, const std::vector<Place>& servers,
                     const ShardOptions& common)
    : plan_(plan) {
  for (const auto& rows : step.looked_up) {
    auto& table = tables_.emplace_back();
    table.rows = &rows;
    for (const auto& [range, server] : rows.parts) {
      RowUpdate update{rows.lookup, rows.update, rows.chunk.name, {}};
      for (const auto& stored : stored_values(rows.update, std::span(&rows.chunk, 1)))
        update.held.push_back({stored.parameter.ref, true, range});
      const auto number = static_cast<int>(step.groups.size() + all_.size());
      table.shards.push_back(add_row_shard(plan, "shard@" + rows.parameter.name + "." + std::to_string(range.first),
                                           servers[server], shard_options(common, number), update,
                                           followers_of(step, common, number)));
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

}  // namespace troupe
