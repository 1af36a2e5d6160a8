#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/strategies/sharded_strategy.hpp"

namespace troupe {

/// The part of a plan that sends workers the rows that they look up and applies the gradients of these.
class RowShards {
 public:
  /// Adds shards for everything in split.looked_up, with these options. If they follow, all of them do, but for the
  /// first if it `leads`.
  RowShards(Plan& plan, const SplitTraining& split, const std::vector<Place>& servers, const ShardOptions& options,
            bool leads);

  /// How many shards there are.
  static int count(const SplitTraining& split);
  const std::vector<ActorId>& all() const { return all_; }
  /// From where a worker gets rows, of each parameter in split.looked_up. Adds what that needs.
  std::vector<OutputRef> add_worker(int worker, const Place& place);
  /// When all workers are there: connects them with the shards, in the order of their numbers.
  void connect(ActorId batches, const std::vector<WorkerOutputs>& workers);

 private:
  /// A parameter, where some of its rows are each.
  struct Table {
    const ParameterRows* rows;
    std::vector<ActorId> shards;
    std::vector<ActorId> exchanges;  // of each worker, if there are several shards
  };

  std::vector<RowRange> ranges_of(const Table& table) const;
  OutputRef gradients_for(const Table& table, std::size_t shard, std::size_t worker, const OutputRef& all) const;

  Plan& plan_;
  std::vector<Table> tables_;
  std::vector<ActorId> all_;
};

}  // namespace troupe
