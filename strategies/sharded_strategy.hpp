#pragma once

#include <map>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/strategies/partitioner.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/strategy.hpp"

namespace troupe {

/// What a worker sends back.
struct WorkerOutputs {
  /// For each group of parameters.
  std::vector<OutputRef> gradients;
  /// For each parameter that is looked up: which rows, and their gradients.
  std::vector<OutputRef> indices, row_gradients;
};

/// What strategies share whose parameters lie in shards: workers that get batches and parameters and send gradients.
class ShardedStrategy : public Strategy {
 public:
  /// Where it was said that evaluation and prediction run; else where workers are that cannot be lost, or process 0.
  std::vector<Place> forward_places() const override;
  void set_forward_places(std::vector<Place> places) { forward_places_ = std::move(places); }
  /// How parameters are split over the servers. Default: whole, each with the server that has the fewest elements so
  /// far.
  void set_sharding(Sharding sharding) { sharding_ = std::move(sharding); }
  /// Makes an actor of one's own for the way from a worker to each shard of a ParameterServer or CentralStorage: with
  /// one input and one output, blocks of gradients as they travel. It lives where the worker does; its name gets the
  /// number of the shard behind it. Null, the default: there is none.
  using MakeGradientActor = std::function<PlanActor(const TensorInfo& gradients, int worker)>;
  void set_gradient_actor(MakeGradientActor make) { make_gradient_actor_ = std::move(make); }
  /// What is done to gradients between workers and servers. Null, the default: nothing. Rows that are looked up travel
  /// as they are; LocalSgd and DiLoCo, which send no gradients, refuse it.
  void set_gradient_hook(std::shared_ptr<const GradientHook> hook) { hook_ = std::move(hook); }
  /// Where a step is of one worker: processes that have workers and nothing else.
  std::set<int> expendable() const override;

 protected:
  /// Shards lie at `servers`, in memory of the host. Throws Error if there is no server, the rule is out of range, or
  /// for another number of workers.
  ShardedStrategy(const char* name, std::vector<Place> workers, std::vector<Place> servers,
                  const ConsistencyRule& rule);

  const std::vector<Place>& servers() const { return servers_; }
  const ConsistencyRule& rule() const { return rule_; }
  const GradientHook* gradient_hook() const { return hook_.get(); }
  bool has_gradient_actor() const { return make_gradient_actor_ != nullptr; }
  int workers() const { return num_replicas_in_sync(); }

  /// A training step in two, with a group for each server that has parameters.
  SplitTraining split(const PlanRequest& request, const SplitOptions& options = {}) const;
  /// Adds the parameters of the groups, and what the updates by which shards change them keep beside them.
  void add_parameters(Plan& plan, const SplitTraining& split) const;
  /// Adds a shard for each group. Where shards follow the first one, `others` more of them do, besides these.
  std::vector<ActorId> add_shards(Plan& plan, const SplitTraining& split, bool local_steps, int others = 0) const;
  /// What all shards have in common; the first of all leads those that follow.
  ShardOptions shard_options(bool first) const;
  /// The last inputs of shards that follow the first: what it does.
  static void connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers);
  /// An empty plan for the batches of the request.
  Plan empty_plan(const PlanRequest& request) const;
  /// Adds what gives each worker its batches: outputs 2 w and 2 w + 1 are those of worker w.
  ActorId add_batches(Plan& plan, const PlanRequest& request) const;
  /// Where a shard gets gradients that a worker makes: from the user's actor, which is added, if there is one.
  OutputRef on_their_way(Plan& plan, const OutputRef& gradients, int worker, std::size_t shard) const;
  /// Adds what loads the batches of a worker and computes. `parameters` sends it those of each group, `rows` those that
  /// it looks up of each parameter of split.looked_up.
  WorkerOutputs add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& split, ActorId batches,
                           const std::vector<OutputRef>& parameters, int worker,
                           const std::vector<OutputRef>& rows = {}) const;

 private:
  const char* name_;
  std::vector<Place> servers_, forward_places_;
  ConsistencyRule rule_;
  Sharding sharding_;
  std::shared_ptr<const GradientHook> hook_;
  MakeGradientActor make_gradient_actor_;
};

}  // namespace troupe
