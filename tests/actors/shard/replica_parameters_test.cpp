#include "troupe/actors/shard/replica_parameters.hpp"

#include <algorithm>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::size_t kTwo = 2;
constexpr float kRate = 0.25F;
constexpr std::int64_t kEmptyStep = 2, kFailingStep = 3, kStepsOfReplicas = 5;

/// The rows that a replica has of a batch: replica 1 has none of one batch.
std::int64_t rows_of(std::uint32_t replica, std::int64_t step) {
  return replica == 1 && step == kEmptyStep ? 0 : 1 + replica;
}

std::int64_t global_rows_of(std::int64_t step) {
  return rows_of(0, step) + rows_of(1, step);
}

/// Sends each replica the infos of its part of every batch, and throws at one step.
class Infos final : public PortActor {
 public:
  Infos(caf::actor_config& config, std::int64_t failing_step) : PortActor(config), failing_step_(failing_step) {}

 private:
  void on_run(const RunInfo& run) override { next_.assign(kTwo, run.first_step); }
  void advance() override {
    if (!is_open()) return;
    for (std::uint32_t replica = 0; replica < kTwo; ++replica)
      for (auto& step = next_[replica]; step < end_step() && has_free(replica); ++step) send_info(replica, step);
    if (std::ranges::all_of(next_, [&](auto step) { return step >= end_step(); })) end();
  }
  void send_info(std::uint32_t replica, std::int64_t step) {
    if (step == failing_step_) throw Error("test", "the batch is broken");
    const Tensor info(BatchInfo::info().shape, BatchInfo::info().dtype);
    BatchInfo{rows_of(replica, step), global_rows_of(step), 0, step}.write(info);
    send_output(replica, info, step);
  }

  const std::int64_t failing_step_;
  std::vector<std::int64_t> next_;
};

/// Its gradient is the distance of the parameter from a goal.
class Learner final : public PortActor {
 public:
  Learner(caf::actor_config& config, TensorInfo gradients, float goal)
      : PortActor(config), gradients_(std::move(gradients)), goal_(goal) {}

 private:
  void advance() override {
    while (has(0) && has_free(0)) {
      auto parameters = take(0);
      if (parameters.failure) {
        send_failure(0, parameters.failure, parameters.step);
      } else {
        const Tensor gradient(gradients_.shape, gradients_.dtype);
        std::ranges::fill(gradient.mutable_data<float>(), parameters.tensor.data<float>()[0] - goal_);
        gradient.mutable_data<float>()[0] = 0.0F;  // the loss is finite
        send_output(0, gradient, parameters.step);
      }
      give_back(0, parameters);
    }
    if (ended(0)) end();
  }

  const TensorInfo gradients_;
  const float goal_;
};

/// Moves a quarter of the way to the other replica after every step.
class Neighbor final : public ReplicaParameters {
 public:
  Neighbor(caf::actor_config& config, const ReplicaUpdate& update) : ReplicaParameters(config, update) {}

 private:
  void on_run(const RunInfo& run) override {
    ReplicaParameters::on_run(run);
    sent_ = false;
  }
  bool exchange(std::int64_t step) override {
    if (!sent_ && !has_free(kFirstOutput)) return false;
    if (!sent_) send_output(kFirstOutput, block(), step);
    sent_ = true;
    if (!has(kFirstInput)) return false;
    auto theirs = take(kFirstInput);
    move_towards(theirs.tensor, 0.25F);
    give_back(kFirstInput, theirs);
    sent_ = false;
    return true;
  }

  bool sent_ = false;
};

constexpr float kGoals[kTwo]{1.0F, -3.0F};

Plan plan_of_two(std::int64_t failing_step) {
  const TrainedParameter w{"w", {Shape{7}, DType::float32}, Initializer::zeros()};
  const ReplicaUpdate update{update_graph(Sgd{.lr = kRate}, 0, {w}), {"w"}};
  const auto block = ReplicaParameters::block_info(update);
  const auto gradients = ShardUpdate(update.update, update.parameters).gradient_block();
  const Device host{DeviceType::cpu, 0};
  Plan plan;
  ExternalPorts ports;
  ports.outputs.assign(kTwo, BatchInfo::info());
  ports.rule = FiringRule::own;
  const auto infos = plan.add(external<Infos>("infos", std::move(ports), failing_step));
  std::vector<ActorId> nodes, learners;
  for (int replica = 0; replica < static_cast<int>(kTwo); ++replica) {
    plan.add_parameter({{"w", replica}, w.info, host, w.initializer, true});
    auto node = external<Neighbor>("neighbor@" + std::to_string(replica),
                                   Neighbor::ports(update, replica, {block}, {block}), update);
    node.place = {0, host};
    node.replica = replica;
    nodes.push_back(plan.add(std::move(node)));
    ExternalPorts of_learner{.inputs = {block}, .outputs = {gradients}};
    of_learner.rule = FiringRule::own;
    learners.push_back(plan.add(
        external<Learner>("learner@" + std::to_string(replica), std::move(of_learner), gradients, kGoals[replica])));
  }
  for (std::size_t replica = 0; replica < kTwo; ++replica) {
    plan.connect(nodes[replica], 0, learners[replica]);
    plan.connect(infos, static_cast<std::int32_t>(replica), nodes[replica]);
    plan.connect(learners[replica], 0, nodes[replica]);
    plan.connect(nodes[1 - replica], 1, nodes[replica]);
  }
  return plan;
}

/// Returns the text of the error with which the run ends, if any.
std::string error_of_replicas(std::uint64_t seed, const SpawnContext& context, std::int64_t failing_step = -1) {
  auto runtime = scheduled_runtime(seed);
  SpawnedPlan plan(runtime, split(plan_of_two(failing_step)), context);
  try {
    plan.start({.max_steps = kStepsOfReplicas});
    plan.wait();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// The parameters of both replicas after a run. All numbers are exact.
void step_by_hand(float (&w)[kTwo]) {
  for (std::int64_t step = 0; step < kStepsOfReplicas; ++step) {
    for (std::uint32_t r = 0; r < kTwo; ++r) {
      const auto rows = rows_of(r, step);
      if (rows == 0) continue;
      const auto weight = static_cast<float>(global_rows_of(step)) / static_cast<float>(rows);
      w[r] -= kRate * ((w[r] - kGoals[r]) * weight);
    }
    const float before[kTwo]{w[0], w[1]};
    for (std::uint32_t r = 0; r < kTwo; ++r) w[r] += 0.25F * (before[1 - r] - w[r]);
  }
}

void check_parameters(const ParameterStore& store, const float (&w)[kTwo]) {
  for (int replica = 0; replica < static_cast<int>(kTwo); ++replica) {
    const auto tensor = store.get("w", replica);
    for (const auto element : tensor.data<float>()) CHECK(element == Approx(w[replica]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("replicas learn with their parts of every batch and then exchange their parameters") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    CAPTURE(seed);
    SpawnContext context;
    context.store = std::make_shared<ParameterStore>();
    float w[kTwo]{};
    for (int run = 0; run < 2; ++run) {
      CHECK(error_of_replicas(seed, context).empty());
      step_by_hand(w);
      check_parameters(*context.store, w);
    }
  }
}

TEST_CASE("a batch that fails ends the run of replicas by name, and the next run works with what is set") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    CAPTURE(seed);
    SpawnContext context;
    context.store = std::make_shared<ParameterStore>();
    CHECK_THAT(error_of_replicas(seed, context, kFailingStep), Contains("the batch is broken"));
    // A replica did not apply the gradients that came after it had learned of the failure.
    CHECK(context.store->newest_updates("w") <= kFailingStep);
    float w[kTwo]{2.0F, 2.0F};
    context.store->set("w", Tensor::from<float>({7}, std::vector<float>(7, w[0])));
    CHECK(error_of_replicas(seed, context).empty());
    step_by_hand(w);
    check_parameters(*context.store, w);
  }
}
