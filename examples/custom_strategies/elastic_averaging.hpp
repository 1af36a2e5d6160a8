#pragma once

#include <algorithm>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/replica_parameters.hpp"
#include "troupe/strategies/step/shards.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"
#include "troupe/strategies/strategy.hpp"

struct ElasticOptions {
  std::int64_t period = 4;  ///< steps between two exchanges with the center
  float pull = 0.9F;        ///< of the center towards the mean of the replicas; these divide it among themselves
};

/// The parameters of one replica. Every few steps they are pulled towards the center.
class ElasticReplica final : public troupe::ReplicaParameters {
 public:
  ElasticReplica(caf::actor_config& config, const troupe::ReplicaUpdate& update, std::int64_t period, float pull)
      : ReplicaParameters(config, update), period_(period), pull_(pull) {}

 private:
  bool exchange(std::int64_t step) override {
    if ((step + 1) % period_ != 0) return true;
    if (!sent_ && !has_free(kFirstOutput)) return false;
    if (!sent_) send_output(kFirstOutput, block(), step);
    sent_ = true;
    if (!has(kFirstInput)) return false;
    auto center = take(kFirstInput);
    move_towards(center.tensor, pull_);
    give_back(kFirstInput, center);
    sent_ = false;
    return true;
  }

  const std::int64_t period_;
  const float pull_;
  bool sent_ = false;  // in this exchange
};

/// The center. It sends its parameters to all replicas, and is pulled towards each of them.
class ElasticCenter final : public troupe::PortActor {
 public:
  ElasticCenter(caf::actor_config& config, const troupe::ReplicaUpdate& update, float pull)
      : PortActor(config), pull_(pull), parameters_(update.update, update.parameters) {}

 private:
  void on_run(const troupe::RunInfo&) override {
    std::vector<troupe::Tensor> tensors;
    for (std::size_t i = 0; i < parameters_.stored().size(); ++i) tensors.push_back(parameter(i));
    parameters_.bind(tensors);
  }

  void advance() override {
    for (std::uint32_t i = 0; i < inputs(); ++i)
      if (!has(i) || !has_free(i)) return;
    const auto info = parameters_.parameter_block();
    const troupe::Tensor now(info.shape, info.dtype), mean(info.shape, info.dtype);
    parameters_.pack(now);
    const auto sum = mean.mutable_data<float>();
    std::ranges::fill(sum, 0.0F);
    for (std::uint32_t i = 0; i < inputs(); ++i) {
      auto theirs = take(i);
      const auto from = theirs.tensor.data<float>();
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += from[k] / static_cast<float>(inputs());
      give_back(i, theirs);
      send_output(i, now, 0);
    }
    update_parameters([&] { parameters_.move_towards(mean, pull_); });
  }

  const float pull_;
  troupe::ShardUpdate parameters_;
};

/// Each replica learns by itself, tied to a common center by a spring. The center is evaluated. Source: S. Zhang et
/// al., Deep learning with elastic averaging SGD, 2015.
class ElasticAveraging final : public troupe::Strategy {
 public:
  explicit ElasticAveraging(const std::vector<troupe::Place>& replicas, const ElasticOptions& options = {})
      : Strategy(replicas), options_(options) {
    set_forward_places({replicas.at(0)});
  }

  /// Every replica, and the center, has parameters of its own, and updates them alone.
  std::optional<bool> equal_copies() const override { return false; }
  bool decides_by_replica() const override { return true; }

  troupe::Plan training_plan(const troupe::PlanRequest& request) const override {
    const int count = num_replicas_in_sync();
    auto plan = empty_plan(request, count);
    // A replica's part of a batch has more than half as many rows as the mean part; see ShardUpdate::take_part().
    const auto step =
        split_training(request.spec, request.data.fields(), troupe::all_together, {.weights = 2.0 * count});
    troupe::ReplicaUpdate update{step.groups.front().update, {}};
    for (const auto& parameter : step.groups.front().parameters) update.parameters.push_back(parameter.name);
    const auto block = ElasticReplica::block_info(update);

    // Copy 0 belongs to the center, copy r + 1 to replica r.
    add_parameters(plan, step);
    const auto first = plan.parameters;
    for (auto parameter : first)
      for (parameter.ref.replica = 1; parameter.ref.replica <= count; ++parameter.ref.replica)
        plan.add_parameter(parameter);
    troupe::ExternalPorts ends{std::vector(places().size(), block), std::vector(places().size(), block)};
    ends.rule = troupe::FiringRule::own;
    ends.parameters = ElasticReplica::ports(update, 0, {}, {}).parameters;
    const auto center = plan.add(troupe::external<ElasticCenter>("center", ends, update, options_.pull));
    const auto batches = add_batches(plan, request, "elastic_averaging", count);
    for (int replica = 0; replica < count; ++replica) {
      auto actor = troupe::external<ElasticReplica>("elastic@" + std::to_string(replica),
                                                    ElasticReplica::ports(update, replica + 1, {block}, {block}),
                                                    update, options_.period, options_.pull / static_cast<float>(count));
      actor.place = troupe::host_side(places().at(static_cast<std::size_t>(replica)));
      actor.replica = replica;
      const auto node = plan.add(std::move(actor));
      const auto outputs = add_worker(plan, request, step, batches, {{node, 0}}, replica_at(replica));
      plan.connect(batches, 2 * replica + 1, node);
      plan.connect(outputs.gradients.front(), node);
      plan.connect(center, replica, node);
      plan.connect(node, 1, center);
    }
    return plan;
  }

 private:
  const ElasticOptions options_;
};
