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
  /// The rules that split parameters into shards and place the shards on the servers.
  Sharding sharding = {};
  /// Encodes the gradients that workers send to servers. Null: workers send float32 gradients. Gradients of looked-up
  /// rows are never encoded.
  std::shared_ptr<const GradientHook> hook = {};
  /// Makes a user's actor that stands between a worker and a shard, the actor that holds a part of the parameters: it
  /// reads the worker's gradients and sends gradients to the shard. The actor must have one input and one output, whose
  /// tensors have the shape and dtype of `gradients`, the block or the hook's encoding that the worker sends. The
  /// function is called once for each worker and each shard, except shards of looked-up rows. The actor runs on the
  /// host side of the worker's place; the number of the shard is appended to its name. Null: workers send gradients to
  /// shards directly.
  std::function<PlanActor(const TensorInfo& gradients, int worker)> gradient_actor = {};
};

/// A strategy whose parameters lie in shards on servers, in host memory. Workers request parameters before every step
/// and send gradients. If every update takes the gradients of all workers (ConsistencyRule::quorum), each worker
/// computes a part of every batch, and the results equal, bit for bit, those of a Mirrored strategy with as many
/// replicas. With a loss that divides by weights the servers divide, so the results may differ in the last bits. If an
/// update takes the gradients of fewer workers, each worker computes whole batches of its own, and gets the next batch
/// as soon as it has room for one.
class ParameterServer : public Strategy {
 public:
  /// Worker w runs at workers[w], and server i lies at servers[i]. Throws Error if there is no server, or `rule` is out
  /// of range or made for another number of workers.
  ParameterServer(std::vector<Place> workers, const std::vector<Place>& servers, const ConsistencyRule& rule,
                  ServerOptions options = {});

  bool shares_steps() const override { return rule_.quorum == num_replicas_in_sync(); }
  /// Not set with backup workers, whose late gradients make no update.
  std::optional<std::int64_t> steps_per_update() const override;
  /// The places given to set_forward_places(), or those of the workers if none were given, without places in
  /// expendable() processes. If none is left, cpu:0 of rank 0.
  std::vector<Place> forward_places() const override;
  /// The processes, except rank 0, that have workers but neither servers nor places given to set_forward_places(). None
  /// if all workers share each step.
  std::set<int> expendable() const override;
  std::optional<bool> equal_copies() const override { return true; }
  Plan training_plan(const PlanRequest& request) const override;

 private:
  /// Adds the actor that ServerOptions::gradient_actor makes, if it is set. Returns the output that carries a worker's
  /// gradients to a shard: the output of this actor, or `gradients` if the option is not set. Throws Error if the actor
  /// does not have exactly one output.
  OutputRef add_gradient_actor(Plan& plan, const OutputRef& gradients, int worker, std::size_t shard) const;

  std::vector<Place> servers_;
  ConsistencyRule rule_;
  ServerOptions options_;
};

}  // namespace troupe
