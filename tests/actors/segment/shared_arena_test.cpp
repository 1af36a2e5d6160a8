#include <algorithm>
#include <map>
#include <set>

#include "troupe/actors/plan/plan_memory.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A model whose replicas meet at every batch norm, so that their fused ops are several segments.
Model normed_model() {
  return Sequential{Flatten{}, Dense{64},   BatchNorm{}, relu,      Dense{64},   BatchNorm{}, relu,
                    Dense{64}, BatchNorm{}, relu,        Dense{64}, BatchNorm{}, relu,        Dense{2}};
}

TrainingSpec normed_spec() {
  return {normed_model(), SoftmaxCrossEntropy{}, Sgd{.lr = 0.1, .momentum = 0.5}};
}

constexpr std::int64_t kStepsOfPlan = 40;
const TensorInfo kManyNumbers{Shape{1024, 2}, DType::float32};

/// A source of 1,024 indices a step: zeros, or -1 in the step `wrong_step`.
PlanActor index_source(std::int64_t wrong_step) {
  auto actor = counting_source("index", kStepsOfPlan);
  actor.outputs[0].info = {Shape{1024}, DType::int32};
  const auto rows = [](std::int64_t step) {
    return step < kStepsOfPlan ? std::optional<std::int64_t>(1) : std::nullopt;
  };
  actor.make_task = function_source(rows, [wrong_step](const Firing& firing) {
    std::ranges::fill(firing.outputs[0].mutable_data<std::int32_t>(), firing.step == wrong_step ? -1 : 0);
  });
  return actor;
}

/// An op of the graph with one output.
PlanActor op_actor(const std::string& name, const OpDef& op, std::vector<TensorInfo> inputs) {
  PlanActor actor{.name = name, .outputs = {{.info = kManyNumbers}}};
  actor.task = {.kind = "op", .call = OpCall{&op, {}, std::move(inputs), {kManyNumbers}}};
  return actor;
}

/// For each replica, a source and a sink on cpu:1, and between them a chain on cpu:0 of `length` ops that each double
/// the elements. With `wrong_step`, a gather that fails in that step follows the first op of replica 1.
Plan doubling_plan(int replicas, int length, std::vector<std::vector<float>>& records,
                   std::optional<std::int64_t> wrong_step = {}) {
  Plan plan;
  records.resize(static_cast<std::size_t>(replicas));
  for (int replica = 0; replica < replicas; ++replica) {
    const auto add = [&](PlanActor actor, int device) {
      actor.name += "@" + std::to_string(replica);
      actor.place = two_places()[static_cast<std::size_t>(device)];
      actor.replica = replica;
      return plan.add(std::move(actor));
    };
    auto source = counting_source("source", kStepsOfPlan);
    source.outputs[0].info = kManyNumbers;
    auto last = add(source, 1);
    for (int i = 0; i < length; ++i) {
      const auto next = add(op_actor("double" + std::to_string(i), kAdd, {kManyNumbers, kManyNumbers}), 0);
      for (int input = 0; input < 2; ++input) plan.connect(last, 0, next);
      last = next;
      if (!wrong_step || replica != 1 || i != 0) continue;
      const auto index = add(index_source(*wrong_step), 1);
      const auto gather = add(op_actor("gather", kGather, {kManyNumbers, plan.actors[index].outputs[0].info}), 0);
      plan.connect(last, 0, gather);
      plan.connect(index, 0, gather);
      last = gather;
    }
    plan.connect(last, 0, add(recording_sink("sink", records[static_cast<std::size_t>(replica)]), 1));
  }
  return plan;
}

std::ptrdiff_t sharing_segments(const Plan& plan) {
  return std::ranges::count_if(
      plan.segments, [&](const PlanSegment& segment) { return shares_arena(plan, segment, lay_out(plan, segment)); });
}

}  // namespace

TEST_CASE("segments that share an arena compute the same for any order in which they run") {
  constexpr int kReplicas = 3, kLength = 5;
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    INFO("seed " << seed);
    std::vector<std::vector<float>> records;
    const auto plan = fuse(doubling_plan(kReplicas, kLength, records));
    REQUIRE(sharing_segments(plan) == kReplicas);
    auto runtime = scheduled_runtime(seed, 2);
    SpawnedPlan spawned(runtime, plan);
    spawned.start({0, kStepsOfPlan, 0});
    spawned.wait();
    for (const auto& record : records) {
      REQUIRE(record.size() == kStepsOfPlan);
      for (std::size_t step = 0; step < record.size(); ++step)
        CHECK(record[step] == static_cast<float>(step << kLength));
    }
  }
}

TEST_CASE("an op that fails leaves no segment without its arena") {
  constexpr int kReplicas = 3, kLength = 3;
  constexpr std::int64_t kWrongStep = 7;
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    INFO("seed " << seed);
    std::vector<std::vector<float>> records;
    const auto plan = fuse(doubling_plan(kReplicas, kLength, records, kWrongStep));
    REQUIRE(sharing_segments(plan) == kReplicas);
    auto runtime = scheduled_runtime(seed, 2);
    SpawnedPlan spawned(runtime, plan);
    spawned.start({0, kStepsOfPlan, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("index -1"));
    CHECK(spawned.drained());
  }
}

TEST_CASE("a replica of several segments takes little more memory than one of a single segment") {
  const auto data = small_dataset(4096).batch(2048);
  const auto plan_of = [&](const Strategy& strategy) {
    return fuse(strategy.training_plan({normed_spec(), data, 0, {names::kLoss}}));
  };
  const auto one = plan_of(OneDevice()), two = plan_of(Mirrored(two_places()));
  CHECK(sharing_segments(one) <= 1);
  CHECK(sharing_segments(two) >= 8);
  const auto values_of = [](const Plan& plan) {
    const auto memory = memory_of(plan);
    return static_cast<double>(memory.arenas + memory.slots);
  };
  std::map<std::int32_t, std::set<Place>> places;
  for (const auto& edge : two.edges)
    if (edge.shared_buffer != kNone) places[edge.shared_buffer].insert(two.actors[edge.producer].place);
  CHECK(places.size() >= 8);
  for (const auto& [buffer, of_buffer] : places) CHECK(of_buffer.size() == 1);
  // Each of the two replicas computes half of the rows.
  CHECK(values_of(two) < 1.3 * values_of(one));
}

TEST_CASE("a plan whose segments share arenas takes the memory that was predicted") {
  for (const auto grain : {Grain::fused, Grain::chains, Grain::per_op}) {
    const auto data = small_dataset(128).batch(64);
    const auto before = cpu_allocator()->bytes_in_use();
    auto plan = in_grain(Mirrored(two_places()).training_plan({normed_spec(), data, 0, {names::kLoss}}), grain);
    const auto predicted = memory_of(plan);
    auto runtime = scheduled_runtime(1);
    SpawnedPlan spawned(runtime, std::move(plan), context_for(data));
    CHECK(cpu_allocator()->bytes_in_use() - before == predicted.total());
  }
}
