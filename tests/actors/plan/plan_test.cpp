#include "troupe/actors/plan/plan.hpp"

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("an output has one edge, which all its readers share") {
  Plan plan;
  const auto a = plan.add(function_actor("a", 1, {}));
  const auto b = plan.add(function_actor("b", 0, {}));
  const auto c = plan.add(function_actor("c", 0, {}));
  plan.connect(a, 0, b, 3);
  plan.connect(a, 0, c);
  REQUIRE(plan.edges.size() == 1);
  CHECK(plan.edges[0].capacity == 3);
  CHECK(plan.edges[0].consumers.size() == 2);
}

TEST_CASE("capacities and tokens that cannot be are refused") {
  Plan plan;
  const auto a = plan.add(function_actor("a", 1, {}));
  CHECK_THROWS_AS(plan.edge_of(a, 0, 0), Error);
  CHECK_THROWS_AS(plan.edge_of(a, 0, 1, 2), Error);
  CHECK_THROWS_AS(plan.edge_of(a, 0, 1, -1), Error);
}

TEST_CASE("a plan prints its actors, edges and segments") {
  std::vector<float> record;
  const auto plan = fuse(chain_plan(1, 1, record, 2));
  const auto text = to_text(plan);
  CHECK_THAT(text, Contains("source source on cpu:0 replica 0"));
  CHECK_THAT(text, Contains("add0: float32[2], capacity 2, tokens 0 -> sink[0]"));
  CHECK_THAT(text, Contains("segment 'source' to 'sink', executor 0: source add0 sink"));
}

TEST_CASE("plans are equal iff every attribute of every op is, and so are their hashes") {
  const auto data = small_dataset(8).batch(4);
  const auto plan_of = [&](double momentum, Grain grain) {
    auto spec = small_spec();
    spec.optimizer = Sgd{.lr = 0.1, .momentum = momentum};
    return in_grain(Mirrored(two_places()).training_plan({spec, data, 0, {names::kLoss}}), grain);
  };
  const auto plan = plan_of(0.9, Grain::fused);
  CHECK(plan == plan_of(0.9, Grain::fused));
  CHECK(hash_of(plan) == hash_of(plan_of(0.9, Grain::fused)));
  CHECK_FALSE(plan == plan_of(0.8, Grain::fused));
  CHECK(hash_of(plan) != hash_of(plan_of(0.8, Grain::fused)));
  CHECK(hash_of(plan) != hash_of(plan_of(0.9, Grain::per_op)));
  auto other_place = plan;
  other_place.actors[3].place.process = 1;
  CHECK_FALSE(plan == other_place);
  auto other_token = plan;
  ++other_token.edges[0].capacity;
  CHECK(hash_of(plan) != hash_of(other_token));
}

TEST_CASE("one plan value is spawned twice, one after the other and side by side on stores of their own") {
  const auto data = small_dataset(40).batch(8);
  const auto plan = fuse(Mirrored(two_places()).training_plan({small_spec(), data, 0, {names::kLoss}}));
  const auto run = [](SpawnedPlan& spawned) {
    spawned.start({.max_steps = 5});
    spawned.wait();
  };
  auto runtime = scheduled_runtime(3);
  std::vector<SpawnContext> contexts;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(context_for(data));
    contexts.back().store = std::make_shared<ParameterStore>(1);
  }
  {
    SpawnedPlan first(runtime, plan, contexts[0]);
    run(first);
  }
  SpawnedPlan second(runtime, plan, contexts[1]), third(runtime, plan, contexts[2]);
  second.start({.max_steps = 5});
  third.start({.max_steps = 5});
  second.wait();
  third.wait();
  for (const auto& context : contexts) CHECK(context.store->hash() == contexts[0].store->hash(1));
}

TEST_CASE("to make and print a plan touches no parameter") {
  const auto data = small_dataset(40).batch(8);
  const auto before = cpu_allocator()->bytes_in_use();
  auto plan = split(OneDevice().training_plan({small_spec(), data, 0, {names::kLoss}}));
  CHECK_THAT(to_text(plan), Contains("in place of 'dense1.weights'") && Contains("momentum=0.5"));
  CHECK(cpu_allocator()->bytes_in_use() - before <= 2 * Allocator::kAlignment);
}

TEST_CASE("a plan that is grouped again forgets the buffers that were shared") {
  const auto data = small_dataset(2000).batch(1000);
  auto plan = split(OneDevice().training_plan({small_spec(), data, 0, {names::kLoss}}));
  REQUIRE_FALSE(plan.shared_buffers.empty());
  for (auto& edge : plan.edges)
    if (edge.shared_buffer != kNone) edge.capacity = 2;
  plan = split(std::move(plan));
  CHECK(plan.shared_buffers.empty());
  for (const auto& edge : plan.edges) CHECK(edge.shared_buffer == kNone);
}
