#pragma once

#include "troupe/strategies/sharded_strategy.hpp"

namespace troupe {

/// Parameters lie in shards on servers; workers ask for them before every step and send their gradients. If all
/// workers' gradients make an update, all compute a part of every batch, to the bits of a Mirrored strategy with as
/// many replicas. Otherwise each gets batches of its own when it has room.
class ParameterServer : public ShardedStrategy {
 public:
  /// Worker w runs at workers[w], shard i lies at servers[i]. Throws Error if there is no server, the rule is out of
  /// range, or for another number of workers.
  ParameterServer(std::vector<Place> workers, std::vector<Place> servers, const ConsistencyRule& rule)
      : ShardedStrategy("parameter_server", std::move(workers), std::move(servers), rule) {}

  bool shares_steps() const override { return rule().quorum == num_replicas_in_sync(); }
  Plan training_plan(const PlanRequest& request) const override;
};

}  // namespace troupe
