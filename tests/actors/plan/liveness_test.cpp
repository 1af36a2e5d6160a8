#include "troupe/actors/plan/liveness.hpp"

#include <algorithm>
#include <caf/actor.hpp>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// a -> b -> a, with this number of tokens on the way back.
Plan ring(std::int32_t capacity, std::int32_t tokens) {
  Plan plan;
  const auto a = plan.add(function_actor("alpha", 1, {}));
  const auto b = plan.add(function_actor("beta", 1, {}));
  plan.connect(a, 0, b);
  plan.connect(plan.edge_of(b, 0, capacity, tokens), a, {Shape{2}, DType::float32}, 0);
  return plan;
}

std::ptrdiff_t position(const std::vector<ActorId>& order, ActorId actor) {
  return std::find(order.begin(), order.end(), actor) - order.begin();
}

}  // namespace

TEST_CASE("a cycle without a token is refused, actor by actor") {
  CHECK_THROWS_WITH(check_liveness(ring(1, 0)), Contains("'alpha' --alpha--> 'beta' --beta--> 'alpha'"));
  CHECK_THROWS_AS(check_liveness(ring(1, 0)), Error);
  CHECK_NOTHROW(check_liveness(ring(1, 1)));
}

TEST_CASE("a cycle of credits without a free slot is refused too") {
  // An actor that follows itself holds the old token while it needs a slot for the new one.
  Plan plan;
  const auto a = plan.add(function_actor("self", 1, {}));
  plan.connect(plan.edge_of(a, 0, 1, 1), a, {Shape{2}, DType::float32}, 0);
  CHECK_THROWS_WITH(check_liveness(plan), Contains("'self' --returns self--> 'self'"));
  plan.edges[0].capacity = 2;
  CHECK_NOTHROW(check_liveness(plan));
}

TEST_CASE("an actor that waits for what it has yet to send itself is refused") {
  for (const auto role : {ActorRole::op, ActorRole::external}) {
    Plan plan;
    auto self = function_actor("self", 1, {});
    self.role = role;
    const auto a = plan.add(self);
    plan.connect(a, 0, a);
    const auto cycle = Contains("no token lies on this cycle: 'self' --self--> 'self'");
    CHECK_THROWS_WITH(check_liveness(plan), cycle);
    CHECK_THROWS_WITH(check_liveness(split(plan)), cycle);
    CHECK_THROWS_WITH(check_liveness(fuse(plan)), cycle);
  }
}

TEST_CASE("actors on a cycle without a token cannot be grouped") {
  for (const auto grain : kGrains)
    CHECK_THROWS_WITH(in_grain(ring(1, 0), grain), Contains("'alpha' --alpha--> 'beta' --beta--> 'alpha'"));
}

TEST_CASE("an actor that works in place passes on the credits of its readers") {
  Plan plan;
  const auto producer = plan.add(function_actor("producer", 1, {}));
  const auto in_place = plan.add(function_actor("in place", 1, {}));
  const auto reader = plan.add(function_actor("reader", 0, {}));
  plan.actors[in_place].outputs[0].alias_of = 0;
  plan.connect(plan.edge_of(producer, 0, 1, 1), in_place, {Shape{2}, DType::float32}, 0);
  plan.connect(in_place, 0, reader);
  const Dependencies dependencies(plan);
  const auto& within = dependencies.within_step();
  const auto returned = std::find_if(within.begin(), within.end(), [](const Dependency& dependency) {
    return dependency.kind == Dependency::Kind::credit;
  });
  REQUIRE(returned != within.end());
  CHECK(returned->from == reader);
  CHECK(returned->to == producer);
}

TEST_CASE("a segment is one node of the proof") {
  // a -> b -> c with a and c in one segment: b waits for it and it for b.
  Plan plan;
  const auto a = plan.add(function_actor("a", 1, {}));
  const auto b = plan.add(function_actor("b", 1, {}));
  const auto c = plan.add(function_actor("c", 0, {}));
  plan.connect(a, 0, b);
  plan.connect(b, 0, c);
  plan.segments = {{"outer", {}, {a, c}, 0}, {"inner", {}, {b}, 1}};
  CHECK_THROWS_WITH(check_liveness(plan), Contains("deadlock"));
  plan.segments = {{"first", {}, {a, b}, 0}, {"second", {}, {c}, 1}};
  CHECK_NOTHROW(check_liveness(plan));
  plan.segments.pop_back();
  CHECK_THROWS_WITH(check_liveness(plan), Contains("'c' belongs to no segment"));
}

TEST_CASE("in the firing order every actor comes after what it waits for, and readers before who overwrites") {
  Plan plan;
  const auto update = plan.add(function_actor("update", 1, {}));
  const auto reader = plan.add(function_actor("reader", 1, {}));
  const auto late_reader = plan.add(function_actor("late reader", 0, {}));
  const TensorInfo info{Shape{2}, DType::float32};
  plan.connect(plan.edge_of(update, 0, 1, 1), reader, info, 0);
  plan.connect(plan.edge_of(update, 0), late_reader, info, 0);
  plan.connect(reader, 0, update);
  const auto order = Dependencies(plan).order();
  CHECK(position(order, reader) < position(order, update));
  CHECK(position(order, late_reader) < position(order, update));
}

TEST_CASE("an actor with a rule of its own must find the slots that the rule needs") {
  const auto plan_with = [&](std::int32_t capacity) {
    Plan plan;
    const auto source = plan.add(counting_source("source", 9));
    PlanActor joins{.name = "joins two", .role = ActorRole::external, .rule = FiringRule::own};
    joins.spawn_external = [](caf::actor_system&, SpawnContext&) { return caf::actor(); };
    const auto id = plan.add(joins);
    plan.connect(source, 0, id, capacity);
    plan.actors[id].inputs[0].holds = 2;
    return plan;
  };
  CHECK_THROWS_WITH(check_liveness(plan_with(1)),
                    Contains("'joins two' needs 2 tensors of 'source' at once, which has 1 slot"));
  CHECK_NOTHROW(check_liveness(plan_with(2)));
}

TEST_CASE("a shard with tokens on its outputs is live") {
  // worker -> shard -> worker: the shard answers at once, with a token of its own to begin with.
  Plan plan;
  const auto worker = plan.add(function_actor("worker", 1, {}));
  PlanActor shard{.name = "shard", .role = ActorRole::external, .rule = FiringRule::own};
  shard.outputs.push_back({.info = {Shape{2}, DType::float32}});
  const auto id = plan.add(shard);
  plan.connect(worker, 0, id);
  plan.connect(plan.edge_of(id, 0, 1, 1), worker, {Shape{2}, DType::float32}, 0);
  CHECK_NOTHROW(check_liveness(plan));
}

TEST_CASE("ranks that order the collectives of a communicator in contradicting ways are refused") {
  const auto plan_with = [](bool agree) {
    Plan plan;
    std::vector<std::vector<ActorId>> begins(2);
    for (int rank = 0; rank < 2; ++rank) {
      for (std::int64_t index : {0, 1}) {
        auto begin = function_actor("begin" + std::to_string(index) + "@" + std::to_string(rank), 1, {});
        begin.role = ActorRole::conductor;
        begin.place.process = rank;
        begin.task = {"begin_collective", "sums", {{"index", index}, {"ranks", std::vector<std::int64_t>{rank}}}};
        begins[static_cast<std::size_t>(rank)].push_back(plan.add(begin));
      }
      auto first = begins[static_cast<std::size_t>(rank)][0], second = begins[static_cast<std::size_t>(rank)][1];
      if (rank == 1 && !agree) std::swap(first, second);
      plan.connect(plan.edge_of(first, 0, 1, 0), second, {Shape{2}, DType::float32}, 0);
    }
    return plan;
  };
  CHECK_NOTHROW(check_liveness(plan_with(true)));
  CHECK_THROWS_WITH(check_liveness(plan_with(false)),
                    Contains("'begin0@0' --begin0@0--> 'begin1@0'") && Contains("'begin1@1' --begin1@1--> 'begin0@1'"));
}

TEST_CASE("a chain of a hundred thousand actors is checked without a deep stack") {
  Plan plan;
  auto last = plan.add(function_actor("0", 1, {}));
  for (int i = 1; i < 100'000; ++i) {
    const auto next = plan.add(function_actor("x", 1, {}));
    plan.connect(last, 0, next);
    last = next;
  }
  const auto first = plan.actors.begin() - plan.actors.begin();
  plan.connect(last, 0, static_cast<ActorId>(first));
  CHECK_THROWS_AS(check_liveness(plan), Error);
}
