#pragma once

#include <map>
#include <string>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/strategies/strategy.hpp"

namespace troupe {

struct SplitTraining;

/// What strategies share whose parameters lie in shards: workers that get batches and parameters and send gradients.
class ShardedStrategy : public Strategy {
 public:
  /// Where it was said that evaluation and prediction run; else where workers are that cannot be lost, or process 0.
  std::vector<Place> forward_places() const override;
  void set_forward_places(std::vector<Place> places) { forward_places_ = std::move(places); }
  /// Where a step is of one worker: processes that have workers and nothing else.
  std::set<int> expendable() const override;

 protected:
  /// Shard i lies at servers[i], if there are parameters for so many. Throws Error if there is no server, the rule is
  /// out of range, or for another number of workers.
  ShardedStrategy(const char* name, std::vector<Place> workers, std::vector<Place> servers,
                  const ConsistencyRule& rule);

  const std::vector<Place>& servers() const { return servers_; }
  const ConsistencyRule& rule() const { return rule_; }
  int workers() const { return num_replicas_in_sync(); }

  /// A training step in two, with a group for each shard.
  SplitTraining split(const PlanRequest& request) const;
  /// Adds the parameters of the groups, and what the updates by which shards change them keep beside them.
  void add_parameters(Plan& plan, const SplitTraining& split) const;
  /// Adds a shard for each group.
  std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& split, bool local_steps) const;
  /// The last inputs of shards that follow the first: what it does.
  static void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers);
  /// An empty plan for the batches of the request.
  Plan empty_plan(const PlanRequest& request) const;
  /// Adds what gives each worker its batches: outputs 2 w and 2 w + 1 are those of worker w.
  ActorId add_batches(Plan& plan, const PlanRequest& request) const;
  /// Adds what loads the batches of a worker and computes. `parameters` sends it those of each group. Returns what
  /// makes the gradients of each.
  std::vector<OutputRef> add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& split, ActorId batches,
                                    const std::vector<OutputRef>& parameters, int worker) const;

 private:
  const char* name_;
  std::vector<Place> servers_, forward_places_;
  ConsistencyRule rule_;
};

}  // namespace troupe
