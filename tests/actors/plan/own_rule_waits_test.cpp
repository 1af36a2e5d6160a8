// Groups of actors around actors with their own firing rule.

#include "troupe/actors/plan/own_rule_waits.hpp"

#include <string>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kSteps = 5;

/// Sends each tensor of input i on over output i. Ends after all tensors of all inputs: it does not wait for the ends
/// of inputs, which may wait for the ends of its outputs.
class Relay final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    for (std::uint32_t i = 0; i < inputs(); ++i)
      while (has(i) && has_free(i)) {
        auto arrival = take(i);
        send_output(i, arrival.tensor.clone(), arrival.step);
        give_back(i, arrival);
        ++sent_;
      }
    if (sent_ == kSteps * inputs()) end();
  }

  std::int64_t sent_ = 0;
};

PlanActor relay_of(const std::string& name, std::size_t ports) {
  return external<Relay>(name, {.inputs = std::vector<TensorInfo>(ports, kPair),
                                .outputs = std::vector<TensorInfo>(ports, kPair),
                                .rule = FiringRule::own});
}

/// Adds 1 to the sum of the inputs.
PlanActor sum_and_one(const std::string& name, int replica) {
  auto actor = function_actor(name, 1, [](const Firing& firing) {
    for (std::size_t i = 0; i < 2; ++i) {
      auto& element = firing.outputs[0].mutable_data<float>()[i];
      element = 1.0F;
      for (const auto& input : firing.inputs) element += input.data<float>()[i];
    }
  });
  actor.replica = replica;
  return actor;
}

/// The numbers that the sink of a plan records in five steps.
std::vector<float> record_of(const std::function<Plan(std::vector<float>& record)>& make_plan, Grain grain) {
  std::vector<float> record;
  auto runtime = scheduled_runtime(7);
  SpawnedPlan spawned(runtime, in_grain(make_plan(record), grain));
  spawned.start({});
  spawned.wait();
  return record;
}

/// A plan that is built edge by edge, with relays whose ports are used in their order.
class RelayedPlan {
 public:
  RelayedPlan(std::size_t relays, std::size_t ports) {
    for (std::size_t i = 0; i < relays; ++i) relays_.push_back(plan.add(relay_of("relay " + std::to_string(i), ports)));
    used_.resize(relays);
  }

  void connect(ActorId from, ActorId to) { plan.connect(from, 0, to, 2); }
  /// Connects two actors through a relay.
  void connect(ActorId from, ActorId to, std::size_t relay) {
    plan.connect(from, 0, relays_[relay], 2);
    plan.connect(relays_[relay], used_[relay]++, to, 2);
  }
  /// Connects two actors through two relays.
  void connect(ActorId from, ActorId to, std::size_t first, std::size_t second) {
    plan.connect(from, 0, relays_[first], 2);
    plan.connect(relays_[first], used_[first]++, relays_[second], 2);
    plan.connect(relays_[second], used_[second]++, to, 2);
  }
  /// Connects each relay's unused ports, which a plan must not have.
  void use_all_ports(ActorId from, std::size_t ports) {
    for (std::size_t relay = 0; relay < relays_.size(); ++relay)
      while (used_[relay] < static_cast<std::int32_t>(ports)) {
        const auto name = "unused " + std::to_string(relay) + "." + std::to_string(used_[relay]);
        connect(from, plan.add(recording_sink(name, ignored_)), relay);
      }
  }

  Plan plan;

 private:
  std::vector<ActorId> relays_;
  std::vector<std::int32_t> used_;  // by relay: the number of ports that are connected
  inline static std::vector<float> ignored_;
};

/// A plan whose replicas each ask a relay `lookups` times in a step. Each request follows from the answer before.
Plan plan_of_lookups(int replicas, int lookups, std::vector<float>& record) {
  RelayedPlan relayed(1, static_cast<std::size_t>(replicas * lookups));
  auto& plan = relayed.plan;
  const auto source = plan.add(counting_source("count", kSteps)), all = plan.add(sum_and_one("all", 0));
  for (int replica = 0; replica < replicas; ++replica) {
    const auto name = " " + std::to_string(replica) + ".";
    auto asks = plan.add(sum_and_one("begin" + name, replica));
    relayed.connect(source, asks);
    for (int lookup = 0; lookup < lookups; ++lookup) {
      const auto reads = plan.add(sum_and_one("reads" + name + std::to_string(lookup), replica));
      relayed.connect(asks, reads, 0);
      // Another path to the reader, and one past it.
      if (lookup % 2 == 1) relayed.connect(asks, reads);
      asks = reads;
    }
    relayed.connect(asks, all);
  }
  relayed.connect(all, plan.add(recording_sink("sink", record)));
  return std::move(plan);
}

/// A plan of random actors in two replicas, some of whose edges lead through one of two relays.
Plan random_plan(std::uint64_t seed, std::vector<float>& record) {
  constexpr std::size_t kPorts = 40;
  RelayedPlan relayed(2, kPorts);
  auto& plan = relayed.plan;
  const auto source = plan.add(counting_source("count", kSteps)), all = plan.add(sum_and_one("all", 0));
  std::uint64_t drawn = 0;
  const auto draw = [&](std::uint64_t below) { return uniform_below(below, seed, 3, drawn++); };
  std::vector<std::vector<ActorId>> actors(2, std::vector{source});
  for (int i = 0; i < 12; ++i) {
    const auto replica = draw(2);
    const auto added = plan.add(sum_and_one("op " + std::to_string(i), static_cast<int>(replica)));
    // Rarely, an actor reads an output of the other replica.
    for (std::uint64_t input = 0; input < 1 + draw(2); ++input) {
      const auto& before = actors[draw(8) == 0 ? 1 - replica : replica];
      const auto from = before[before.size() - 1 - draw(std::min<std::uint64_t>(before.size(), 3))];
      const auto way = draw(7);
      if (way < 2)
        relayed.connect(from, added, way);
      else if (way < 4)
        relayed.connect(from, added, way - 2, 3 - way);
      else
        relayed.connect(from, added);
    }
    actors[replica].push_back(added);
  }
  for (const auto& list : actors) relayed.connect(list.back(), all);
  relayed.connect(all, plan.add(recording_sink("sink", record)));
  relayed.use_all_ports(source, kPorts);
  return std::move(plan);
}

}  // namespace

TEST_CASE("actors before and behind an actor with its own rule are no segment that waits for itself") {
  const int replicas = GENERATE(1, 2, 3), lookups = GENERATE(1, 2, 3, 4);
  CAPTURE(replicas, lookups);
  const auto make = [&](auto& record) { return plan_of_lookups(replicas, lookups, record); };
  const auto expected = record_of(make, Grain::per_op);
  CHECK(expected.size() == kSteps);
  for (const auto grain : {Grain::chains, Grain::fused}) CHECK(record_of(make, grain) == expected);
}

TEST_CASE("an actor with its own rule sends a replica parameters, and something else once the gradient has come") {
  const auto make = [](std::vector<float>& record) {
    RelayedPlan relayed(1, 2);
    auto& plan = relayed.plan;
    const auto source = plan.add(counting_source("count", kSteps));
    const auto learns = plan.add(sum_and_one("learns", 0)), reads = plan.add(sum_and_one("reads", 0));
    relayed.connect(source, learns, 0);
    relayed.connect(learns, reads, 0);
    relayed.connect(reads, plan.add(recording_sink("sink", record)));
    return std::move(plan);
  };
  for (const auto grain : kGrains) CHECK(record_of(make, grain) == std::vector<float>{2, 3, 4, 5, 6});
}

TEST_CASE("plans with random paths through actors with their own rule give the same numbers in all grains") {
  for (std::uint64_t seed = 0; seed < schedules(100); ++seed) {
    CAPTURE(seed);
    const auto make = [&](auto& record) { return random_plan(seed, record); };
    const auto expected = record_of(make, Grain::per_op);
    REQUIRE(expected.size() == kSteps);
    for (const auto grain : {Grain::chains, Grain::fused}) CHECK(record_of(make, grain) == expected);
  }
}

TEST_CASE("a reader of an actor with its own rule does not wait for the senders of a later one") {
  // Relay 0 deals out batches, relay 1 is a server. A sink reads the batch, but nothing from the server.
  RelayedPlan relayed(2, 3);
  auto& plan = relayed.plan;
  std::vector<float> record;
  const auto source = plan.add(counting_source("count", kSteps)), sink = plan.add(recording_sink("sink", record));
  const auto sends = plan.add(sum_and_one("sends", 0)), gets = plan.add(sum_and_one("gets", 0));
  relayed.connect(source, sends, 0);
  relayed.connect(source, sink, 0);
  relayed.connect(source, gets, 0, 1);
  relayed.connect(sends, gets, 1);
  const Dependencies dependencies(plan);
  CHECK(dependencies.through_own_rules()[static_cast<std::size_t>(sends)] == std::vector<ActorId>{gets});
  CHECK(dependencies.through_own_rules()[static_cast<std::size_t>(source)] == std::vector<ActorId>{sink, sends, gets});
}

TEST_CASE("workers that get parameters and send gradients do not wait for each other, and stay whole") {
  RelayedPlan relayed(1, 4);
  auto& plan = relayed.plan;
  std::vector<float> record;
  const auto source = plan.add(counting_source("count", kSteps)), sink = plan.add(recording_sink("sink", record));
  // Both belong to no worker.
  for (const auto actor : {source, sink}) plan.actors[static_cast<std::size_t>(actor)].alone = true;
  std::vector<ActorId> gets, sends;
  for (int worker = 0; worker < 2; ++worker) {
    gets.push_back(plan.add(sum_and_one("gets " + std::to_string(worker), worker)));
    sends.push_back(plan.add(sum_and_one("sends " + std::to_string(worker), worker)));
    relayed.connect(source, gets.back(), 0);
    relayed.connect(gets.back(), sends.back());
    relayed.connect(sends.back(), sink, 0);
  }
  const Dependencies dependencies(plan);
  for (const auto actor : sends) {
    CHECK(dependencies.through_own_rules()[static_cast<std::size_t>(actor)] == std::vector<ActorId>{sink});
    CHECK_FALSE(dependencies.is_alone(actor));
  }
  for (const auto actor : gets) CHECK_FALSE(dependencies.is_alone(actor));
}
