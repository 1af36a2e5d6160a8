#pragma once

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/replica_parameters.hpp"
#include "troupe/strategies/step/shards.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"
#include "troupe/strategies/strategy.hpp"

/// The parameters of one replica on a ring. After every step they become the mean of this replica's parameters and its
/// predecessor's.
class GossipNode final : public troupe::ReplicaParameters {
 public:
  GossipNode(caf::actor_config& config, const troupe::ReplicaUpdate& update) : ReplicaParameters(config, update) {}

 private:
  static constexpr auto kFromPredecessor = kFirstInput;
  static constexpr auto kToSuccessor = kFirstOutput;

  void on_run(const troupe::RunInfo& run) override {
    ReplicaParameters::on_run(run);
    sent_ = false;
  }

  bool exchange(std::int64_t step) override {
    if (!sent_ && !has_free(kToSuccessor)) return false;
    if (!sent_) send_output(kToSuccessor, block(), step);
    sent_ = true;
    if (!has(kFromPredecessor)) return false;
    auto theirs = take(kFromPredecessor);
    move_towards(theirs.tensor, 0.5F);
    give_back(kFromPredecessor, theirs);
    sent_ = false;
    return true;
  }

  bool sent_ = false;  // in this exchange
};

/// Decentralized training: each replica learns with its part of every batch, and sends its parameters to its successor
/// alone. Source: X. Lian et al., Can decentralized algorithms outperform centralized algorithms?, 2017.
class GossipRing final : public troupe::Strategy {
 public:
  explicit GossipRing(const std::vector<troupe::Place>& replicas) : Strategy(replicas) {}

  /// Every replica has parameters of its own, and updates them alone.
  std::optional<bool> equal_copies() const override { return false; }
  bool decides_by_replica() const override { return true; }

  troupe::Plan training_plan(const troupe::PlanRequest& request) const override {
    const int count = num_replicas_in_sync();
    auto plan = empty_plan(request, count);
    // The computation of a replica, and one update of all parameters.
    // A replica's part of a batch has more than half as many rows as the mean part; see ShardUpdate::take_part().
    const auto step =
        split_training(request.spec, request.data.fields(), troupe::all_together, {.weights = 2.0 * count});
    add_parameters(plan, step);
    add_copies(plan);
    const auto update = update_of(step.groups.front());
    std::vector<troupe::ActorId> nodes;
    for (int replica = 0; replica < count; ++replica) nodes.push_back(add_node(plan, update, replica));
    const auto batches = add_batches(plan, request, "gossip_ring", count);
    for (int replica = 0; replica < count; ++replica) {
      const auto node = nodes.at(static_cast<std::size_t>(replica));
      const auto outputs = add_worker(plan, request, step, batches, {{node, 0}}, replica_at(replica));
      plan.connect(batches, 2 * replica + 1, node);
      plan.connect(outputs.gradients.front(), node);
      plan.connect(nodes.at(static_cast<std::size_t>((replica + count - 1) % count)), 1, node);
    }
    return plan;
  }

 private:
  /// Adds a copy of each parameter, and of its optimizer state, for every further replica.
  void add_copies(troupe::Plan& plan) const {
    const auto first = plan.parameters;
    for (int replica = 1; replica < num_replicas_in_sync(); ++replica)
      for (auto parameter : first) {
        parameter.ref.replica = replica;
        plan.add_parameter(parameter);
      }
  }

  static troupe::ReplicaUpdate update_of(const troupe::ParameterGroup& group) {
    troupe::ReplicaUpdate update{group.update, {}};
    for (const auto& parameter : group.parameters) update.parameters.push_back(parameter.name);
    return update;
  }

  troupe::ActorId add_node(troupe::Plan& plan, const troupe::ReplicaUpdate& update, int replica) const {
    const auto block = GossipNode::block_info(update);
    auto node = troupe::external<GossipNode>("gossip@" + std::to_string(replica),
                                             GossipNode::ports(update, replica, {block}, {block}), update);
    node.place = troupe::host_side(places().at(static_cast<std::size_t>(replica)));
    node.replica = replica;
    return plan.add(std::move(node));
  }
};
