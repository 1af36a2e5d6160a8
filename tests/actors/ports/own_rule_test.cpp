// Actors that fire by a rule of their own: on some inputs, many times for one or once for many, with tokens to begin.

#include <algorithm>

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

/// Gives the next tensor to whichever consumer has a free slot, each to one.
class Dispatcher final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t output = 0; output < outputs() && has(0); ++output) {
        if (!has_free(output)) continue;
        auto batch = take(0);
        send_output(output, batch.tensor.clone(), batch.step);
        give_back(0, batch);
        moved = true;
      }
    }
  }
};

/// Sums two tensors of its input, which it holds meanwhile, and sends the sum three times.
class PairSum final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    while (has(0) && kept_.size() < 2) kept_.push_back(take(0));
    while (kept_.size() == 2 && sent_ < 3 && has_free(0)) {
      const auto sum = kept_[0].tensor.data<float>()[0] + kept_[1].tensor.data<float>()[0];
      send_output(0, Tensor::from<float>(Shape{2}, std::vector<float>{sum, 0.0F}), step_++);
      ++sent_;
    }
    if (sent_ < 3) return;
    sent_ = 0;
    for (auto& arrival : kept_) give_back(0, arrival);
    kept_.clear();
    advance();
  }
  std::vector<Arrival> kept_;
  int sent_ = 0;
  std::int64_t step_ = 0;
};

/// A shard: answers a worker's gradient at once with the newest value, the first answer being a token.
class Shard final : public PortActor {
 public:
  Shard(caf::actor_config& config, std::vector<std::uint32_t>* freed) : PortActor(config), freed_(freed) {}

 private:
  void advance() override {
    while (has(0) && has_free(0)) {
      auto gradient = take(0);
      value_ += gradient.tensor.data<float>()[0];
      give_back(0, gradient);
      send_output(0, current(), version_++);
    }
  }
  Tensor initial_token(std::uint32_t) override { return current(); }
  void on_slot_free(std::uint32_t, std::uint32_t slot) override { freed_->push_back(slot); }
  Tensor current() const { return Tensor::from<float>(Shape{2}, std::vector<float>{value_, 0.0F}); }

  std::vector<std::uint32_t>* freed_;
  float value_ = 100.0F;
  std::int64_t version_ = 0;
};

/// Takes every tensor as soon as it arrives.
class Listener final : public PortActor {
 public:
  Listener(caf::actor_config& config, std::vector<float>* heard) : PortActor(config), heard_(heard) {}

 private:
  void advance() override {
    while (has(0)) {
      auto arrival = take(0);
      heard_->push_back(arrival.tensor.data<float>()[0]);
      give_back(0, arrival);
    }
  }
  std::vector<float>* heard_;
};

}  // namespace

TEST_CASE("a dispatcher gives every batch to exactly one free worker") {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    std::vector<float> one, other;
    Plan plan;
    const auto source = plan.add(counting_source("source", 40));
    const auto dispatcher =
        plan.add(with_own_rule(external<Dispatcher>("dispatcher", {.inputs = {kPair}, .outputs = {kPair, kPair}})));
    plan.connect(source, 0, dispatcher, 2);
    plan.connect(dispatcher, 0, plan.add(recording_sink("one", one)));
    plan.connect(dispatcher, 1, plan.add(recording_sink("other", other)));
    run_steps(scheduled_runtime(seed), plan, 40);
    auto all = one;
    all.insert(all.end(), other.begin(), other.end());
    std::sort(all.begin(), all.end());
    REQUIRE(all.size() == 40);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<float>(i));
  }
}

TEST_CASE("an actor may keep tensors over several firings, and send many for two") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<float> record;
    Plan plan;
    const auto source = plan.add(counting_source("source", 6));
    const auto sum = plan.add(with_own_rule(external<PairSum>("sum", {.inputs = {kPair}, .outputs = {kPair}})));
    plan.connect(source, 0, sum, 2);
    plan.actors[sum].inputs[0].holds = 2;
    plan.connect(sum, 0, plan.add(recording_sink("sink", record)));
    run_steps(scheduled_runtime(seed), plan, 6);
    CHECK(record == std::vector<float>{1, 1, 1, 5, 5, 5, 9, 9, 9});
    plan.edges[0].capacity = 1;
    CHECK_THROWS_WITH(run_steps(scheduled_runtime(seed), plan, 6), Contains("needs 2 tensors of 'source' at once"));
  }
}

TEST_CASE("a shard with a token on its output and a worker make a loop, and the shard sees its slots come back") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<float> record;
    std::vector<std::uint32_t> freed;
    Plan plan;
    const auto source = plan.add(counting_source("source", 5));
    const auto worker = plan.add(function_actor("worker", 1, [&](const Firing& firing) {
      record.push_back(firing.inputs[1].data<float>()[0]);
      firing.outputs[0].mutable_data<float>()[0] = firing.inputs[0].data<float>()[0];
    }));
    plan.connect(source, 0, worker);
    const auto shard =
        plan.add(with_own_rule(external<Shard>("shard", {.inputs = {kPair}, .outputs = {kPair}}, &freed)));
    plan.connect(worker, 0, shard);
    plan.connect(plan.edge_of(shard, 0, 2, 1), worker, kPair, 0);
    run_steps(scheduled_runtime(seed), plan, 5);
    CHECK(record == std::vector<float>{100, 100, 101, 103, 106});
    CHECK(freed.size() == 5);
  }
}

TEST_CASE("an actor all of whose inputs begin with tokens is free, and its run ends when they do") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<float> heard;
    Plan plan;
    const auto source = plan.add(counting_source("source", 12));
    auto listener = with_own_rule(external<Listener>("listener", {.inputs = {kPair}}, &heard));
    listener.pacing = Pacing::free;
    const auto free = plan.add(std::move(listener));
    plan.connect(plan.edge_of(source, 0, 2, 1), free, kPair, 0);
    const auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, in_grain(plan, Grain::per_op));
    for (std::int64_t first : {0, 4}) {
      spawned.start({first, 4});
      spawned.wait();
    }
    // The token before the first step, and the last value once more as the token of the second run.
    CHECK(heard == std::vector<float>{0, 0, 1, 2, 3, 3, 4, 5, 6, 7});
  }
}
