#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/tests/plans/test_plans.hpp"

// External actors that begin and end the plans of the tests of port actors.

namespace troupe::testing {

/// Sends the number of the step as the first element of a pair.
class StepSource : public PortActor {
 public:
  StepSource(caf::actor_config& config, std::int64_t steps) : PortActor(config), steps_(steps) {}

 private:
  bool has_step(std::int64_t step) override { return step < steps_; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    outputs[0] = Tensor::from<float>(Shape{2}, std::vector<float>{static_cast<float>(step), 0.0F});
  }
  std::int64_t steps_;
};

/// Records the first element of each tensor.
class FirstSink : public PortActor {
 public:
  FirstSink(caf::actor_config& config, std::vector<float>* record) : PortActor(config), record_(record) {}

 private:
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor>) override {
    record_->push_back(inputs[0].data<float>()[0]);
  }
  std::vector<float>* record_;
};

/// Runs a plan by the schedule of a seed, which also decides whether the plan is split or fused.
inline void run_seeded(std::uint64_t seed, const Plan& plan, std::int64_t first = 0, std::int64_t steps = 1000) {
  auto runtime = scheduled_runtime(seed);
  SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
  spawned.start({first, steps, 0});
  spawned.wait();
}

}  // namespace troupe::testing
