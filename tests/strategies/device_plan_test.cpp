#include <algorithm>
#include <set>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/skip.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::ptrdiff_t count(const Plan& plan, std::string_view op) {
  return std::ranges::count_if(
      plan.actors, [&](const PlanActor& actor) { return actor.task.call && actor.task.call->op->name == op; });
}

// An op that computes nothing, since it is only planned.
const OpDef kHostOnly{.name = "host_only",
                      .infer = [](const OpInputs& inputs) { return std::vector<TensorInfo>{inputs[0]}; },
                      .gradient = [](const OpGradient& g) { return std::vector<Value>{g.dys[0]}; }};

Value host_only(Value x) {
  return x.builder().apply_one(kHostOnly, {x});
}

Plan training_plan(const Strategy& strategy, const Dataset& data = small_dataset(8).batch(4)) {
  const auto spec = small_spec();
  return strategy.training_plan({spec, data, 0, {}});
}

std::ptrdiff_t count_tasks(const Plan& plan, std::string_view kind) {
  return std::ranges::count_if(plan.actors, [&](const PlanActor& actor) { return actor.task.kind == kind; });
}

Plan plan_of_host_only(Device device) {
  auto spec = small_spec();
  spec.model = Sequential{Flatten{}, Dense{8, host_only}, Dense{2}};
  return OneDevice(device).training_plan({spec, small_dataset(8).batch(4), 0, {}});
}

const PlanActor& producer_of(const Plan& plan, const PlanActor& actor, std::size_t input) {
  const auto& edge = plan.edges[static_cast<std::size_t>(actor.inputs[input].edge)];
  return plan.actors[static_cast<std::size_t>(edge.producer)];
}

/// The merged updates of a replica.
std::vector<ActorId> updates_of(const Plan& plan, std::int32_t replica) {
  std::vector<ActorId> updates;
  for (std::size_t i = 0; i < plan.actors.size(); ++i) {
    const auto& actor = plan.actors[i];
    const bool updates_parameters = actor.task.call && actor.task.call->op->name.starts_with("sgd_update");
    if (updates_parameters && actor.replica == replica) updates.push_back(static_cast<ActorId>(i));
  }
  return updates;
}

/// The collectives whose sums are the gradients of an update.
std::set<std::string> summed_by(const Plan& plan, const PlanActor& update) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < update.inputs.size(); ++i) {
    if (update.inputs[i].edge == kNone) continue;
    const auto& producer = producer_of(plan, update, i);
    if (producer.role == ActorRole::collective) names.insert(producer.name);
  }
  return names;
}

/// The infos of the values that the collectives of a replica sum.
std::vector<TensorInfo> collectives_of(const Plan& plan, std::int32_t replica) {
  std::vector<TensorInfo> infos;
  for (const auto& actor : plan.actors)
    if (actor.role == ActorRole::collective && actor.replica == replica) infos.push_back(actor.outputs[0].info);
  return infos;
}

}  // namespace

TEST_CASE("a plan for a device with memory of its own has one op where that for a CPU has several") {
  const auto data = small_dataset(8).batch(4).keep_on_devices(0);
  const auto on_cpu = training_plan(OneDevice(Device{}), data),
             on_device = training_plan(OneDevice(test_device()), data);
  const auto updates = count(on_cpu, "sgd_update");
  CHECK(updates > 1);
  CHECK(count(on_cpu, "sgd_updates") + count(on_cpu, "relu_grad_bias") + count(on_cpu, "fused_elementwise") == 0);
  CHECK(count(on_device, "sgd_update") == 0);
  CHECK(count(on_device, "sgd_updates") == 1);
  CHECK(count(on_cpu, "matmul_relu_grad") == 0);
  CHECK(count(on_device, "matmul_relu_grad") == 1);
  CHECK(on_device.actors.size() < on_cpu.actors.size() + 1 - static_cast<std::size_t>(updates));
}

TEST_CASE("replicas on a CPU and on a device sum the same values") {
  const std::vector<Place> places{{0, Device{}}, {0, test_device()}};
  const auto plan = training_plan(Mirrored(places, {.first_bucket_bytes = 8, .bucket_bytes = 8}));
  CHECK(collectives_of(plan, 0).size() > 1);
  CHECK(collectives_of(plan, 1) == collectives_of(plan, 0));
}

TEST_CASE("updates of all buckets are one op, because all wait for the decision whether the step is finite") {
  const std::vector<Place> places{{0, test_device(0)}, {0, test_device(1)}};
  // The second layer fills the first bucket, the first layer the other.
  const auto plan = fuse(training_plan(Mirrored(places, {.first_bucket_bytes = 100, .bucket_bytes = 512})));
  REQUIRE(collectives_of(plan, 0).size() == 2);
  const auto updates = updates_of(plan, 0);
  REQUIRE(updates.size() == 1);
  CHECK(plan.actor(updates.front()).task.call->op->name == "sgd_updates");
  CHECK(summed_by(plan, plan.actor(updates.front())).size() == 2);
}

TEST_CASE("data that a device keeps come to it as indices of samples, others as batches") {
  const auto data = small_dataset(8).batch(4);
  const auto kept = training_plan(OneDevice(test_device()), data);
  CHECK(count_tasks(kept, "load_rows") == 1);
  for (const auto& actor : kept.actors)
    if (actor.role == ActorRole::source) CHECK(actor.outputs[0].info == TensorInfo{Shape{kBatch}, DType::int32});
  CHECK(count_tasks(training_plan(OneDevice(test_device()), data.keep_on_devices(0)), "load_rows") == 0);
  CHECK(count_tasks(training_plan(OneDevice(Device{}), data), "load_rows") == 0);
  const ParameterServer servers({{0, test_device(0)}, {0, Device{}}}, {Place{}}, ConsistencyRule::synchronous(2));
  CHECK(count_tasks(training_plan(servers, data), "load_rows") == 1);
}

TEST_CASE("workers on devices whose parameters lie on servers have fused ops, too") {
  const auto plan_on = [](Device device) {
    return training_plan(ParameterServer({{0, device}}, {Place{}}, ConsistencyRule::synchronous(1)));
  };
  const auto on_cpu = plan_on(Device{}), on_device = plan_on(test_device());
  CHECK(count(on_cpu, "relu_grad") == 1);
  CHECK(count(on_cpu, "matmul_relu_grad") == 0);
  CHECK(count(on_device, "relu_grad") == 0);
  CHECK(count(on_device, "matmul_relu_grad") == 1);
}

TEST_CASE("an op without a kernel for a device is refused by name when the plan is made") {
  CHECK_THROWS_WITH(plan_of_host_only(Device{}), "[host_only] has no kernel for cpu:0");
  register_kernel(kHostOnly, DeviceType::cpu, [](const OpCall&) { return std::unique_ptr<Kernel>(); });
  CHECK(count(plan_of_host_only(Device{}), "host_only") == 1);
}

TEST_CASE("an op without a kernel for a GPU is refused without a GPU") {
  if (!has_backend(DeviceType::cuda)) return testing::skip("this build has no CUDA");
  CHECK_THROWS_WITH(plan_of_host_only({DeviceType::cuda, 0}), "[host_only] has no kernel for cuda:0");
}
