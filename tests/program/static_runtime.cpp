// A runtime, a plan and a trainer that are static objects: the process must exit in order after main() has returned.

#include <cstdio>
#include <memory>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/plans/test_plans.hpp"

namespace {

const troupe::Runtime runtime;
const troupe::OneDevice strategy;
std::vector<float> record;
std::unique_ptr<troupe::SpawnedPlan> plan;
std::unique_ptr<troupe::Trainer> trainer;

}  // namespace

int main() {
  const auto spec = troupe::testing::small_spec();
  trainer = std::make_unique<troupe::Trainer>(runtime, strategy, spec.model, spec.optimizer, spec.loss);
  trainer->fit(troupe::testing::small_dataset(48).batch(8));
  plan = std::make_unique<troupe::SpawnedPlan>(runtime, troupe::split(troupe::testing::chain_plan(3, 5, record)));
  plan->start({});
  plan->wait();
  std::printf("%zu steps\n", record.size());
  return record.size() == 5 ? 0 : 1;
}
