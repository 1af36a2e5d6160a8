#include "troupe/actors/plan/share_executors.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The chains of a training step of a perceptron whose products and updates are large.
Plan large_step(const Strategy& strategy) {
  const TrainingSpec spec{Sequential{Dense{256, relu}, Dense{192, relu}, Dense{10}}, SoftmaxCrossEntropy{},
                          Sgd{.lr = 0.1}};
  const auto data = Dataset::from_arrays({{"features", Tensor(Shape{32, 512}, DType::float32)},
                                          {"labels", Tensor(Shape{32}, DType::int32)}})
                        .batch(32);
  return chain(strategy.training_plan({spec, data, 0, {names::kLoss}}));
}

/// The name of the update of a parameter.
std::string update_of(const Plan& plan, const std::string& parameter) {
  for (const auto& actor : plan.actors)
    for (const auto& output : actor.outputs)
      if (output.parameter && output.parameter->name == parameter) return actor.name;
  FAIL("nothing updates " << parameter);
  return "";
}

}  // namespace

TEST_CASE("an update shares the executor of the segment that computes its gradient") {
  const auto plan = large_step(OneDevice());
  const auto executor = [&](const std::string& actor) { return segment_with(plan, actor).executor; };
  const auto producer_of_gradient = [&](const std::string& update) {
    for (const auto& edge : plan.edges)
      for (const auto& consumer : edge.consumers)
        if (plan.actors[consumer.actor].name == update && plan.actors[edge.producer].name.starts_with("grad."))
          return plan.actors[edge.producer].name;
    return std::string();
  };
  const auto first = update_of(plan, "dense1.weights"), second = update_of(plan, "dense2.weights");
  // Both updates wait for the decision whether the step is finite, so they are not in the segments of the products.
  for (const auto& update : {first, second}) {
    INFO(update);
    CHECK(&segment_with(plan, update) != &segment_with(plan, producer_of_gradient(update)));
    CHECK(executor(update) == executor(producer_of_gradient(update)));
  }
  CHECK(executor(first) != executor(second));
}

TEST_CASE("executors of several segments have names of their own") {
  const Wiring wiring(CheckedPlan(large_step(OneDevice())), 0);
  std::set<std::string> names;
  for (const auto& node : wiring.nodes()) names.insert(node.name);
  CHECK(names.size() == wiring.nodes().size());
}

TEST_CASE("segments that may run at the same time have executors of their own") {
  const auto plan = large_step(Mirrored(two_places()));
  std::map<std::int32_t, std::vector<const PlanSegment*>> members;
  for (const auto& segment : plan.segments) members[segment.executor].push_back(&segment);
  CHECK(members.size() < plan.segments.size());
  for (const auto& [executor, segments] : members) {
    for (const auto* segment : segments) CHECK(segment->place == segments.front()->place);
    // Collectives and conductors wait for other replicas meanwhile.
    if (segments.size() > 1 && plan.actors[segments.front()->actors.front()].role != ActorRole::conductor)
      for (const auto* segment : segments)
        for (const auto actor : segment->actors) CHECK(plan.actors[actor].role != ActorRole::collective);
  }
  for (const auto* replica : {"0", "1"}) {
    // The gradients of weights and those of inputs, which are computed at the same time.
    const auto of = [&](const std::string& actor) { return segment_with(plan, actor + "@" + replica).executor; };
    CHECK(of("grad.matmul_3") != of("grad.matmul_4"));
  }
}
