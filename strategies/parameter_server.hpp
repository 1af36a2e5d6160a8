#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/step/partitioner.hpp"
#include "troupe/strategies/strategy.hpp"

namespace troupe {

/// Options of strategies whose parameters lie on servers.
struct ServerOptions {
  /// How parameters are split over the servers.
  Sharding sharding = {};
  /// Encodes gradients between workers and servers. Null: they travel unchanged. Rows that are looked up always do.
  std::shared_ptr<const GradientHook> hook = {};
  /// Makes a user's actor for the way from a worker to each shard, with one input and one output: blocks of gradients
  /// as they travel. The actor lives at the worker's place; the number of the shard is appended to its name. Null:
  /// none.
  std::function<PlanActor(const TensorInfo& gradients, int worker)> gradient_actor = {};
};

/// Parameters lie in shards on servers, in host memory. Workers request them before every step and send gradients. If
/// an update is made of the gradients of all workers, all compute a part of every batch, with the bits of a Mirrored
/// strategy with as many replicas. Otherwise each worker gets batches of its own when it has room.
class ParameterServer : public Strategy {
 public:
  /// Worker w runs at workers[w], and server i lies at servers[i]. Throws Error if there is no server, or the rule is
  /// out of range or for another number of workers.
  ParameterServer(std::vector<Place> workers, const std::vector<Place>& servers, const ConsistencyRule& rule,
                  ServerOptions options = {});

  bool shares_steps() const override { return rule_.quorum == num_replicas_in_sync(); }
  /// The given places, otherwise those of the workers that are not expendable, otherwise rank 0.
  std::vector<Place> forward_places() const override;
  /// Processes with workers alone, if a step is of one worker.
  std::set<int> expendable() const override;
  Plan training_plan(const PlanRequest& request) const override;

 private:
  /// The output that carries a worker's gradients to a shard: of the user's actor, which is added, if there is one.
  OutputRef add_gradient_actor(Plan& plan, const OutputRef& gradients, int worker, std::size_t shard) const;

  std::vector<Place> servers_;
  ConsistencyRule rule_;
  ServerOptions options_;
};

}  // namespace troupe
