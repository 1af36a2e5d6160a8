#include "troupe/actors/shard/block_shard.hpp"

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr int kShardWorkers = 2;
constexpr std::int64_t kShardSteps = 8, kFaultyStep = 5;

enum class Fault { none, shape, dtype, twice };

/// Gives the infos of batches to the workers, by turns.
class Batches final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void on_run(const RunInfo& run) override { next_ = run.first_step; }
  void advance() override {
    if (!is_open()) return;
    for (; next_ < end_step() && has_free(next_worker()); ++next_) {
      const Tensor info(BatchInfo::info().shape, BatchInfo::info().dtype);
      BatchInfo{1, 1, 0, next_}.write(info);
      send_output(next_worker(), info, next_);
    }
    if (next_ >= end_step()) end();
  }
  std::uint32_t next_worker() const { return static_cast<std::uint32_t>(next_) % outputs(); }

  std::int64_t next_ = 0;
};

/// For each batch pushes a gradient of ones; at one step what no worker may push.
class Pusher final : public PortActor {
 public:
  Pusher(caf::actor_config& config, TensorInfo gradients, Fault fault)
      : PortActor(config), gradients_(std::move(gradients)), fault_(fault) {}

 private:
  void advance() override {
    while (has(0) && has(1) && has_free(0)) {
      auto info = take(0), parameters = take(1);
      const auto step = parameters.step;
      const bool failed = parameters.failure != nullptr;
      const auto failure = parameters.failure;
      give_back(0, info);
      give_back(1, parameters);
      if (failed)
        send_failure(0, failure, step);
      else
        push(step);
    }
    if (ended(0) || ended(1)) end();
  }

  void push(std::int64_t step) {
    const auto fault = step == kFaultyStep ? fault_ : Fault::none;
    const auto info = fault == Fault::shape   ? TensorInfo{Shape{5}, DType::float32}
                      : fault == Fault::dtype ? TensorInfo{gradients_.shape, DType::int32}
                                              : gradients_;
    Tensor gradient(info.shape, info.dtype);
    if (info.dtype == DType::float32) std::ranges::fill(gradient.mutable_data<float>(), 1.0F);
    if (info.dtype == DType::float32) gradient.mutable_data<float>()[0] = 0.0F;
    send_output(0, gradient, step);
    if (fault == Fault::twice) send_output(0, gradient, step);
  }

  const TensorInfo gradients_;
  const Fault fault_;
};

/// A shard of a vector w, which falls by one with every gradient, and two workers, to which steps come by turns.
Plan shard_plan(Fault fault) {
  const TrainedParameter w{"w", {Shape{7}, DType::float32}, Initializer::zeros()};
  const BlockUpdate what{update_graph(Sgd{.lr = 1.0}, 0, {w}), {"w"}, {{{"w", 0}, true}}};
  const ShardUpdate update(what.update, what.parameters);
  const Device host{DeviceType::cpu, 0};
  Plan plan;
  plan.add_parameter({{"w", 0}, w.info, host, w.initializer, true});
  ExternalPorts ports;
  ports.outputs.assign(kShardWorkers, BatchInfo::info());
  ports.rule = FiringRule::own;
  const auto batches = plan.add(external<Batches>("batches", std::move(ports)));
  const auto rule = ConsistencyRule::asynchronous(kShardWorkers);
  const auto shard = add_block_shard(plan, "shard", {0, host}, {.rule = rule, .shared_steps = false}, what, 0);
  for (int worker = 0; worker < kShardWorkers; ++worker) plan.connect(batches, worker, shard, 2);
  for (int worker = 0; worker < kShardWorkers; ++worker) {
    ExternalPorts of_worker{.inputs = {BatchInfo::info(), update.parameter_block()},
                            .outputs = {update.gradient_block()}};
    of_worker.rule = FiringRule::own;
    const auto id = plan.add(
        external<Pusher>("worker@" + std::to_string(worker), std::move(of_worker), update.gradient_block(), fault));
    plan.connect(batches, worker, id);
    plan.connect(shard, worker, id);
    plan.edge_of(id, 0, 2);
    plan.connect(id, 0, shard);
  }
  return plan;
}

/// A run that goes on with the parameters of the store. Returns the text of the error with which it ends, if any.
std::string error_of_run(Fault fault, std::uint64_t seed, const SpawnContext& context, std::int64_t first_step) {
  auto runtime = scheduled_runtime(seed);
  SpawnedPlan plan(runtime, split(shard_plan(fault)), context);
  try {
    plan.start({.first_step = first_step, .max_steps = kShardSteps});
    plan.wait();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// The updates made so far. Every element has fallen by as much.
std::int64_t updates_of(const ParameterStore& store) {
  const auto updates = store.newest_updates("w").value_or(0);
  const auto w = store.get("w");
  for (const auto element : w.data<float>()) CHECK(element == -static_cast<float>(updates));
  return updates;
}

}  // namespace

TEST_CASE("a push of a wrong shape or dtype, or without a pull, is refused by name, and what was applied stays") {
  const std::vector<std::pair<Fault, std::string>> cases{
      {Fault::none, ""},
      {Fault::shape, "[worker@1] sent float32[5] on cpu:0 where the plan says float32["},
      {Fault::dtype, "[worker@1] sent int32["},
      {Fault::twice, "[shard] worker 1 sent a gradient that was not requested"}};
  for (const auto& [fault, text] : cases)
    for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
      CAPTURE(text, seed);
      SpawnContext context;
      context.store = std::make_shared<ParameterStore>();
      const auto error = error_of_run(fault, seed, context, 0);
      CHECK_THAT(error, Contains(text));
      CHECK(error.empty() == text.empty());
      const auto updates = updates_of(*context.store);
      CHECK((fault == Fault::none ? updates == kShardSteps : updates <= kShardSteps));
      CHECK(error_of_run(Fault::none, seed, context, kShardSteps).empty());
      CHECK(updates_of(*context.store) == updates + kShardSteps);
    }
}
