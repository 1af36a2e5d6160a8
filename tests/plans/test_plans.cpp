#include "troupe/tests/plans/test_plans.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"

namespace troupe::testing {

Runtime scheduled_runtime(std::uint64_t seed, int devices) {
  return Runtime({.cpu_devices = devices, .test_seed = seed});
}

std::vector<Place> two_places() {
  return {{0, {DeviceType::cpu, 0}}, {0, {DeviceType::cpu, 1}}};
}

PlanActor function_actor(const std::string& name, int outputs, FunctionTask::Function function) {
  PlanActor actor{.name = name};
  actor.outputs.resize(static_cast<std::size_t>(outputs));
  for (auto& output : actor.outputs) output.info = {Shape{2}, DType::float32};
  actor.make_task = function_task(std::move(function));
  return actor;
}

PlanActor counting_source(const std::string& name, std::int64_t steps) {
  auto actor = function_actor(name, 1, {});
  actor.role = ActorRole::source;
  const auto rows = [steps](std::int64_t step) { return step < steps ? std::optional<std::int64_t>(1) : std::nullopt; };
  actor.make_task = function_source(rows, [](const Firing& firing) {
    firing.outputs[0].mutable_data<float>()[0] = static_cast<float>(firing.step);
    firing.outputs[0].mutable_data<float>()[1] = -static_cast<float>(firing.step);
  });
  return actor;
}

PlanActor recording_sink(const std::string& name, std::vector<float>& record) {
  auto actor =
      function_actor(name, 0, [&record](const Firing& firing) { record.push_back(firing.inputs[0].data<float>()[0]); });
  actor.role = ActorRole::sink;
  return actor;
}

std::vector<float> counted(std::int64_t first, std::int64_t count, float offset) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(first) + offset);
  return numbers;
}

Plan chain_plan(int length, std::int64_t steps, std::vector<float>& record, std::int32_t capacity) {
  Plan plan;
  auto last = plan.add(counting_source("source", steps));
  for (int i = 0; i < length; ++i) {
    const auto next = plan.add(function_actor("add" + std::to_string(i), 1, [](const Firing& firing) {
      for (int k = 0; k < 2; ++k) firing.outputs[0].mutable_data<float>()[k] = firing.inputs[0].data<float>()[k] + 1.0F;
    }));
    plan.connect(last, 0, next, capacity);
    last = next;
  }
  plan.connect(last, 0, plan.add(recording_sink("sink", record)), capacity);
  return plan;
}

const PlanSegment& segment_with(const Plan& plan, std::string_view actor) {
  const auto found = std::ranges::find_if(plan.segments, [&](const PlanSegment& segment) {
    return std::ranges::any_of(segment.actors, [&](ActorId id) { return plan.actors[id].name == actor; });
  });
  if (found == plan.segments.end()) throw Error("test", "no segment has an actor '" + std::string(actor) + "'");
  return *found;
}

SpawnContext context_for(const Dataset& data) {
  SpawnContext context;
  context.sources.emplace("data", data);
  context.tasks.emplace("metrics", function_task([](const Firing&) {}));
  return context;
}

Dataset small_dataset(std::int64_t rows) {
  Tensor features(Shape{rows, 4, 3}, DType::float32);
  Tensor labels(Shape{rows}, DType::int32);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto kind = static_cast<std::int32_t>(uniform_below(2, 5, 1, static_cast<std::uint64_t>(row)));
    labels.mutable_data<std::int32_t>()[row] = kind;
    for (std::int64_t i = 0; i < 12; ++i)
      features.mutable_data<float>()[row * 12 + i] =
          uniform(5, 2, static_cast<std::uint64_t>(row * 12 + i)) + (i % 3 == kind ? 0.5F : 0.0F);
  }
  return Dataset(features, labels, 2);
}

TrainingSpec small_spec() {
  return {Sequential{Flatten{}, Dense{8, relu}, Dense{2}}, SoftmaxCrossEntropy{}, Sgd{.lr = 0.1, .momentum = 0.5}};
}

}  // namespace troupe::testing
