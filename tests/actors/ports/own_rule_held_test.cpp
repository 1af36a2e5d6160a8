// Actors with a rule of their own that hold tensors: when they throw, end, return them too early or stall.

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/actors/ports/own_rule_actors.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Passes its first tensor on uncopied. Then it returns the tensor at once, or ends.
class Lender final : public PortActor {
 public:
  Lender(caf::actor_config& config, bool returns) : PortActor(config), returns_(returns) {}

 private:
  void advance() override {
    if (!has(0) || !has_free(0)) return;
    auto arrival = take(0);
    send_output(0, std::exchange(arrival.tensor, {}), arrival.step);
    returns_ ? give_back(0, arrival) : end();
  }
  bool returns_;
};

/// Throws while it holds a tensor.
class Faulty final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    if (!has(0)) return;
    kept_ = take(0);
    throw 5;
  }
  Arrival kept_;
};

/// Takes one tensor of input 0 and keeps it; waits for input 1 alone.
class LateTaker final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    if (kept_.empty() && has(0)) kept_.push_back(take(0));
  }
  std::vector<Arrival> kept_;
};

/// A source, a Lender and a sink.
Plan lending_plan(bool returns, std::vector<float>& record) {
  Plan plan;
  const auto source = plan.add(counting_source("source", 12));
  const auto lender =
      plan.add(with_own_rule(external<Lender>("lender", {.inputs = {kPair}, .outputs = {kPair}}, returns)));
  plan.connect(source, 0, lender);
  plan.connect(lender, 0, plan.add(recording_sink("sink", record)));
  return plan;
}

}  // namespace

TEST_CASE("what is held when a rule throws is returned, and the run ends with the actor's name") {
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    Plan plan;
    const auto source = plan.add(counting_source("source", 5));
    const auto faulty = plan.add(with_own_rule(external<Faulty>("faulty", {.inputs = {kPair}})));
    plan.connect(source, 0, faulty);
    SpawnedPlan spawned(scheduled_runtime(seed), in_grain(plan, Grain::per_op));
    spawned.start({.max_steps = 5});
    CHECK_THROWS_WITH(spawned.wait(), Contains("not a std::exception") && Contains("op faulty"));
    CHECK(spawned.drained());
  }
}

TEST_CASE("an actor that ends returns what it holds when its consumers are done with it, not before") {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    std::vector<float> record;
    run_steps(scheduled_runtime(seed), lending_plan(false, record), 6);
    // The source goes on to write step 1 and later into the slot as soon as it has it back.
    CHECK(record == std::vector<float>{0});
  }
}

TEST_CASE("an actor that returns a tensor while an output carries it is refused by name") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    std::vector<float> record;
    CHECK_THROWS_WITH(run_steps(scheduled_runtime(seed), lending_plan(true, record), 6),
                      Contains("[lender] returns a tensor of input 0, which output 0 still carries"));
  }
}

TEST_CASE("the report of a stall tells all that an actor with its own rule has and lacks") {
  Plan plan;
  const auto source = plan.add(counting_source("source", kForEver));
  struct Silent final : PortActor {
    using PortActor::PortActor;
    void advance() override {}
  };
  auto never = with_own_rule(external<Silent>("never", {.outputs = {kPair}}));
  const auto silent = plan.add(std::move(never));
  const auto collector =
      plan.add(with_own_rule(external<LateTaker>("late_taker", {.inputs = {kPair, kPair}, .outputs = {kPair}})));
  std::vector<float> record;
  plan.connect(source, 0, collector);
  plan.connect(silent, 0, collector);
  plan.connect(collector, 0, plan.add(recording_sink("sink", record)));
  SpawnedPlan spawned(scheduled_runtime(2), in_grain(plan, Grain::per_op));
  spawned.start({.max_steps = 5});
  CHECK_THROWS_WITH(spawned.wait(),
                    Contains("'late_taker' (step 0) fires by its own rule; it has no tensor of 'source' "
                             "from 'source', no tensor of 'never' from 'never' and 1 tensors that it "
                             "has taken"));
}

TEST_CASE("a server that sends a parameter without a copy and updates it fails the run") {
  struct Server final : PortActor {
    using PortActor::PortActor;
    void advance() override {
      while (has(0) && has_free(0)) {
        auto request = take(0);
        send_output(0, parameter(0), request.step);
        update_parameter(0, [](const Tensor& w) { w.mutable_data<float>()[0] += 1.0F; });
        give_back(0, request);
      }
    }
  };
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    std::vector<float> record;
    Plan plan;
    plan.add_parameter({{"w", 0}, kPair, Device{}, Initializer::constant(0.0), true});
    const auto source = plan.add(counting_source("source", 5));
    const auto server = plan.add(with_own_rule(
        external<Server>("server", {.inputs = {kPair}, .outputs = {kPair}, .parameters = {{{"w", 0}, true}}})));
    plan.connect(source, 0, server);
    plan.connect(server, 0, plan.add(recording_sink("sink", record)), 2);
    CHECK_THROWS_WITH(run_steps(scheduled_runtime(seed), plan, 5),
                      Contains("[server] the tensor that output 0 carried was written to before its slot was free"));
  }
}
