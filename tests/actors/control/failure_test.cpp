#include "troupe/transport/failure.hpp"

#include <atomic>
#include <future>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// source -> early -> faulty -> sink, where faulty throws at a step.
Plan faulty_plan(std::int64_t bad_step, std::vector<float>& record, std::int64_t steps = kForEver) {
  Plan plan;
  const auto source = plan.add(counting_source("source", steps));
  const auto copy = [](const Firing& firing) {
    firing.outputs[0].mutable_data<float>()[0] = firing.inputs[0].data<float>()[0];
  };
  const auto early = plan.add(function_actor("early", 1, copy));
  const auto faulty = plan.add(function_actor("faulty", 1, [copy, bad_step](const Firing& firing) {
    if (firing.step == bad_step) throw Error("faulty", "broke on purpose");
    copy(firing);
  }));
  plan.connect(source, 0, early, 2);
  plan.connect(early, 0, faulty, 2);
  plan.connect(faulty, 0, plan.add(recording_sink("sink", record)), 2);
  return plan;
}

/// Takes tensors and never returns them. Calls `on_tensor` for each.
class Hoarder : public caf::event_based_actor {
 public:
  explicit Hoarder(caf::actor_config& config, std::function<void()> on_tensor = {})
      : caf::event_based_actor(config), on_tensor_(std::move(on_tensor)) {}
  caf::behavior make_behavior() override {
    return {[this](Wire& wire) {
              supervisor_ = wire.supervisor;
              tell(*this, supervisor_, Prepared{});
            },
            [this](const PrepareRun&) { tell(*this, supervisor_, Prepared{}); },
            [this](TensorReady& ready) { take(ready); },
            [](const DataEnded&) {},
            [](const Describe&) {},
            [this](const Stop&) {
              supervisor_ = nullptr;
              quit();
            }};
  }

 protected:
  virtual void take(TensorReady& ready) {
    kept_.push_back(ready.tensor);
    if (on_tensor_) on_tensor_();
  }

 private:
  std::function<void()> on_tensor_;
  caf::actor supervisor_;
  std::vector<Tensor> kept_;
};

/// Dies of an exception when a tensor arrives.
class Mortal : public Hoarder {
 public:
  using Hoarder::Hoarder;

 protected:
  void take(TensorReady&) override { throw std::runtime_error("mortal"); }
};

template <class Actor, class... Arguments>
Plan plan_ending_in(const std::string& name, const Arguments&... arguments) {
  Plan plan;
  const auto source = plan.add(counting_source("source", kForEver));
  plan.connect(source, 0, plan.add(external<Actor>(name, {.inputs = {{Shape{2}, DType::float32}}}, arguments...)));
  return plan;
}

/// For stalls that have begun.
const WaitOptions kSoon{.stall_limit = std::chrono::milliseconds(200), .interval = std::chrono::milliseconds(10)};

/// Is woken again and again, and never completes.
class Restless final : public Task {
 public:
  struct Wake {
    std::function<void()> call;
    std::atomic<bool> known{false};
  };
  explicit Restless(Wake& wake) : wake_(wake) {}

  void begin(const RunInfo&, std::function<void()> wake) override {
    wake_.call = std::move(wake);
    wake_.known = true;
  }
  bool fire(const Firing&) override { return false; }
  bool advance(const Firing&) override { return false; }

 private:
  Wake& wake_;
};

}  // namespace

TEST_CASE("a kernel that throws in step 7 ends the run with its op and step, and the steps before are whole") {
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    std::vector<float> record;
    auto runtime = scheduled_runtime(seed);
    const auto plan = faulty_plan(7, record);
    SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
    spawned.start({0, kForEver, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("[faulty] broke on purpose (op faulty, step 7, replica 0)"));
    CHECK(spawned.done());
    REQUIRE(record.size() >= 7);
    for (std::size_t i = 0; i < record.size(); ++i) CHECK(record[i] == static_cast<float>(i < 7 ? i : i + 1));
    CHECK_THROWS_WITH(spawned.start({0, 1, 0}), Contains("after a failure"));
  }
}

TEST_CASE("a kernel that throws ends the run with its step on real threads too") {
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    std::vector<float> record;
    Runtime runtime({.workers = 2});
    const auto plan = faulty_plan(7, record);
    SpawnedPlan spawned(runtime, grain == Grain::per_op ? split(plan) : fuse(plan));
    spawned.start({0, kForEver, 0});
    CHECK_THROWS_WITH(spawned.wait({.interval = std::chrono::milliseconds(1)}), Contains("step 7"));
  }
}

TEST_CASE("a source that throws ends the run too") {
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    std::vector<float> record;
    auto plan = faulty_plan(-1, record);
    plan.actors[0].make_task = function_source(
        [](std::int64_t step) -> std::optional<std::int64_t> {
          if (step == 4) throw Error("reader", "the disk is gone");
          return 1;
        },
        [](const Firing& firing) { firing.outputs[0].mutable_data<float>()[0] = static_cast<float>(firing.step); });
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
    spawned.start({0, kForEver, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("[reader] the disk is gone") && Contains("step 4"));
    CHECK(record == std::vector<float>{0, 1, 2, 3});
  }
}

TEST_CASE("an actor that never returns a credit is named by the report of the stall") {
  SECTION("without threads, as soon as no actor has a message") {
    auto runtime = scheduled_runtime(5);
    SpawnedPlan spawned(runtime, split(plan_ending_in<Hoarder>("hoarder")));
    spawned.start({0, kForEver, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("'source' (step 1) waits for 'hoarder' to return 'source'"));
  }
  SECTION("with threads, after the limit") {
    std::promise<void> has_one;
    const std::function<void()> on_tensor = [&] { has_one.set_value(); };
    Runtime runtime({.workers = 2});
    SpawnedPlan spawned(runtime, split(plan_ending_in<Hoarder>("hoarder", on_tensor)));
    spawned.start({0, kForEver, 0});
    REQUIRE(has_one.get_future().wait_for(patience()) == std::future_status::ready);
    CHECK_THROWS_WITH(spawned.wait(kSoon), Contains("[watchdog] no progress of 'source' for 200 ms") &&
                                               Contains("'source' (step 1) waits for 'hoarder' to return 'source'") &&
                                               Contains("'hoarder' does not answer"));
  }
}

TEST_CASE("an actor that dies ends the run with its name") {
  auto runtime = scheduled_runtime(5);
  SpawnedPlan spawned(runtime, split(plan_ending_in<Mortal>("mortal actor")));
  spawned.start({0, kForEver, 0});
  CHECK_THROWS_WITH(spawned.wait(), Contains("actor 'mortal actor' died"));
}

TEST_CASE("a kernel that does not end is named by the report of the stall") {
  std::promise<void> stuck, release;
  auto released = release.get_future().share();
  Plan plan;
  const auto source = plan.add(counting_source("source", 3));
  const auto fine = plan.add(function_actor("fine", 1, [](const Firing&) {}));
  plan.connect(source, 0, fine);
  plan.connect(fine, 0, plan.add(function_actor("stuck", 0, [&stuck, released](const Firing& firing) {
    if (firing.step == 0) stuck.set_value();
    released.wait();
  })));
  Runtime runtime({.workers = 2});
  SpawnedPlan spawned(runtime, fuse(plan));
  spawned.start({0, 3, 0});
  REQUIRE(stuck.get_future().wait_for(patience()) == std::future_status::ready);
  CHECK_THROWS_WITH(spawned.wait(kSoon), Contains("is busy in 'stuck'") && !Contains("does not answer"));
  release.set_value();
}

TEST_CASE("to be woken is no progress: a firing that never completes is a stall") {
  Restless::Wake wake;
  Plan plan;
  auto restless = function_actor("restless", 0, {});
  restless.make_task = [&](const PlanActor&, SpawnContext&) { return std::make_unique<Restless>(wake); };
  plan.connect(plan.add(counting_source("source", 3)), 0, plan.add(restless));
  Runtime runtime({.workers = 2});
  SpawnedPlan spawned(runtime, fuse(plan));
  spawned.start({0, 3, 0});
  const auto begin = std::chrono::steady_clock::now();
  const auto wake_it = [&] {
    if (wake.known) wake.call();
    if (std::chrono::steady_clock::now() - begin > patience()) throw Error("test", "the stall was not seen");
  };
  CHECK_THROWS_WITH(spawned.wait({.stall_limit = std::chrono::milliseconds(50),
                                  .interval = std::chrono::milliseconds(5),
                                  .on_interval = wake_it}),
                    Contains("[watchdog] no progress"));
}

TEST_CASE("a run that is stopped ends all sources at the same step") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    std::vector<float> one, other;
    Plan plan;
    const auto first = plan.add(counting_source("first", kForEver));
    const auto second = plan.add(counting_source("second", kForEver));
    plan.connect(first, 0, plan.add(recording_sink("one", one)), 1);
    plan.connect(second, 0, plan.add(recording_sink("other", other)), 4);
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, split(plan));
    spawned.start({0, kForEver, 0});
    for (int i = 0; i < 60; ++i) runtime.run_one();
    spawned.stop();
    spawned.wait();
    CHECK(one.size() == other.size());
    spawned.start({static_cast<std::int64_t>(one.size()), 2, 0});
    spawned.wait();
    CHECK(one.size() == other.size());
  }
}
