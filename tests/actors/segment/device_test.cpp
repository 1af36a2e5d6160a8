#include <cmath>
#include <future>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kSteps = 20;
constexpr std::size_t kOpsOfDiamond = 4;

/// 3 (2 x) + 5 (2 x): a value with two readers, of which `where` may put some on other devices.
Plan diamond(const std::function<Device(const std::string& op)>& where, std::vector<float>& record,
             std::int32_t capacity) {
  GraphBuilder builder;
  const auto a = scale(builder.input("x", {2}), 2.0);
  builder.output("y", add(scale(a, 3.0), scale(a, 5.0)));
  Plan plan;
  const auto source = plan.add(counting_source("source", kSteps));
  const auto first_op = plan.actors.size();
  const auto ops = lower(plan, std::move(builder).build(),
                         {.place = {0, test_device(0)}, .inputs = {{"x", {source, 0}}}, .capacity = capacity});
  for (auto i = first_op; i < plan.actors.size(); ++i) plan.actors[i].place.device = where(plan.actors[i].name);
  plan.connect(ops.at("y"), plan.add(recording_sink("sink", record)), capacity);
  return plan;
}

std::vector<float> expected() {
  std::vector<float> values;
  for (std::int64_t step = 0; step < kSteps; ++step) values.push_back(16.0F * static_cast<float>(step));
  return values;
}

Runtime small_runtime() {
  return Runtime({.workers = 2, .cpu_devices = 1, .own_threads = false});
}

/// Runs the plan; its work is launched as far ahead as the credits let it, then done in an order drawn from the seed.
void run(const Plan& plan, std::uint64_t seed) {
  const auto runtime = small_runtime();
  SpawnedPlan spawned(runtime, plan);
  {
    const HeldTestDevices held(seed);
    spawned.start({0, kSteps});
    held.wait_until_queued(kOpsOfDiamond);
  }
  spawned.wait({.stall_limit = patience()});
}

/// Reads what arrives as the host does, or as one does who knows that it lies on a device.
class Reader : public PortActor {
 public:
  Reader(caf::actor_config& config, std::vector<float>* record, bool copies)
      : PortActor(config), record_(record), copies_(copies) {}

 private:
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor>) override {
    const auto tensor = copies_ ? inputs[0].copy_to_host() : inputs[0];
    record_->push_back(tensor.data<float>()[0]);
  }
  std::vector<float>* record_;
  bool copies_;
};

Plan plan_with_reader(Device device, bool copies, std::vector<float>& record) {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {2}), 16.0));
  Plan plan;
  const auto source = plan.add(counting_source("source", kSteps));
  const auto ops = lower(plan, std::move(builder).build(),
                         {.place = {0, test_device(0)}, .inputs = {{"x", {source, 0}}}, .capacity = 2});
  auto reader = external<Reader>("reader", {.inputs = {kPair}}, &record, copies);
  reader.place.device = device;
  plan.connect(ops.at("y"), plan.add(std::move(reader)), 2);
  return plan;
}

std::vector<TensorInfo> like_input(const OpInputs& inputs) {
  return {inputs[0]};
}

const OpDef kInnocent{.name = "innocent", .infer = like_input};

/// Copies. Its launch fails if earlier work has: a GPU tells of a fault at any later call.
class InnocentKernel final : public Kernel {
 public:
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    const auto before = context.stream.record();
    if (!before.state()->wait_for(patience())) throw Error("innocent", "the device does nothing");
    if (before.error()) throw Error("innocent", "unspecified launch failure");
    copy(context.stream, inputs[0], outputs[0]);
  }
};

Value innocent(Value x) {
  static const bool kRegistered = [] {
    register_test_devices();
    register_op(kInnocent);
    register_kernel(kInnocent, DeviceType::test,
                    [](const OpCall&) -> std::unique_ptr<Kernel> { return std::make_unique<InnocentKernel>(); });
    return true;
  }();
  (void)kRegistered;
  return x.builder().apply_one(kInnocent, {x});
}

/// An op that fails on the device at step 3, before `last`.
Plan plan_with_failing_op(std::vector<float>& record, const std::function<Value(Value)>& last) {
  GraphBuilder builder;
  builder.output("y", last(check_finite(scale(builder.input("x", {2}), 2.0))));
  Plan plan;
  auto source = counting_source("source", kSteps);
  source.make_task =
      function_source([](std::int64_t step) { return step < kSteps ? std::optional<std::int64_t>(1) : std::nullopt; },
                      [](const Firing& firing) {
                        for (auto& x : firing.outputs[0].mutable_data<float>())
                          x = firing.step == 3 ? std::nanf("") : static_cast<float>(firing.step);
                      });
  const auto from = plan.add(std::move(source));
  const auto ops = lower(plan, std::move(builder).build(),
                         {.place = {0, test_device(0)}, .inputs = {{"x", {from, 0}}}, .capacity = 2});
  plan.connect(ops.at("y"), plan.add(recording_sink("sink", record)), 2);
  return plan;
}

/// A chain of ops whose source learns that there is no more data only when `all_read` says that the sink has
/// everything.
Plan chain_ended_when_idle(int ops, std::shared_future<void> all_read, PlanActor sink) {
  GraphBuilder builder;
  auto x = builder.input("x", {2});
  for (int i = 0; i < ops; ++i) x = scale(x, -1.0);
  builder.output("y", x);
  Plan plan;
  auto source = counting_source("source", 1);
  source.make_task = function_source(
      [all_read](std::int64_t step) {
        if (step == 0) return std::optional<std::int64_t>(1);
        all_read.wait_for(patience());
        return std::optional<std::int64_t>();
      },
      [](const Firing& firing) { firing.outputs[0].mutable_data<float>()[0] = 7.0F; });
  const auto from = plan.add(std::move(source));
  const auto made =
      lower(plan, std::move(builder).build(), {.place = {0, test_device(0)}, .inputs = {{"x", {from, 0}}}});
  plan.connect(made.at("y"), plan.add(std::move(sink)));
  return split(std::move(plan));
}

}  // namespace

TEST_CASE("streams of one device and of several wait for tensors and for returned slots") {
  const auto one = [](const std::string&) { return test_device(0); };
  int number = 0;
  const auto many = [&](const std::string&) { return test_device(number++ % 3); };
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    for (const auto grain : {Grain::per_op, Grain::chains, Grain::fused}) {
      std::vector<float> record, from_many;
      const auto capacity = seed % 2 == 0 ? 1 : 3;
      run(in_grain(diamond(one, record, capacity), grain), seed);
      CHECK(record == expected());
      run(in_grain(diamond(many, from_many, capacity), grain), seed);
      CHECK(from_many == expected());
    }
  }
}

TEST_CASE("an actor on the host gets copies that are complete, one on a device the tensors there") {
  const DelayedTestDevices delayed;
  std::vector<float> on_host, copied, refused;
  run(fuse(plan_with_reader({}, false, on_host)), 1);
  CHECK(on_host == expected());
  run(fuse(plan_with_reader(test_device(0), true, copied)), 2);
  CHECK(copied == expected());
  CHECK_THROWS_WITH(run(fuse(plan_with_reader(test_device(0), false, refused)), 3),
                    Contains("float32[2] on test:0 is not in host memory; copy it with copy_to_host()") &&
                        Contains("(op reader, step 0"));
}

TEST_CASE("a task that runs on the host is refused a place on a device, which the error names") {
  std::vector<float> record;
  auto plan = chain_plan(1, kSteps, record);
  plan.actors[1].place.device = test_device(2);
  CHECK_THROWS_WITH(SpawnedPlan(small_runtime(), fuse(plan)),
                    Contains("'add0' runs on the host, but its place is test:2; place it on cpu:2"));
}

TEST_CASE("what fails on a device is the error also if a later launch is the first to tell") {
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    std::vector<float> record;
    CHECK_THROWS_WITH(run(in_grain(plan_with_failing_op(record, innocent), grain), 1),
                      Contains("[check_finite] the value is nan") && !Contains("launch failure"));
    CHECK(record == std::vector<float>{0, 2, 4});
  }
}

TEST_CASE("what fails on a device fails the step where the host reads its result, and the run ends") {
  const auto scaled = [](Value x) { return scale(x, 8.0); };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const auto grain : {Grain::per_op, Grain::fused}) {
      std::vector<float> record;
      CHECK_THROWS_WITH(run(in_grain(plan_with_failing_op(record, scaled), grain), seed),
                        Contains("[check_finite] the value is nan") && Contains("step 3, replica 0"));
      CHECK(record == std::vector<float>{0, 16, 32});
    }
  }
}

TEST_CASE("a run stops while work is queued, and nothing is left of it") {
  const auto before = test_device_bytes_in_use();
  {
    const HeldTestDevices held(4);
    std::vector<float> record;
    const auto runtime = small_runtime();
    SpawnedPlan spawned(runtime, split(diamond([](const std::string&) { return test_device(0); }, record, 3)));
    spawned.start({0, kSteps});
    held.wait_until_queued(kOpsOfDiamond);
  }
  CHECK(test_device_bytes_in_use() == before);
}

TEST_CASE("a chain of thousands of segments that are idle ends") {
  std::promise<void> all_read;
  float read = 0.0F;
  auto sink = function_actor("sink", 0, [&](const Firing& firing) {
    read = firing.inputs[0].data<float>()[0];
    all_read.set_value();
  });
  sink.role = ActorRole::sink;
  const auto plan = chain_ended_when_idle(8'000, all_read.get_future().share(), std::move(sink));
  const auto runtime = small_runtime();
  SpawnedPlan spawned(runtime, plan);
  spawned.start({0, kSteps});
  spawned.wait({.stall_limit = patience()});
  CHECK(read == 7.0F);
}
