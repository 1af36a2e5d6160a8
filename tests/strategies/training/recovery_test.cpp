// Trainers after a failure: the state of the parameters, and how training goes on.

#include <atomic>

#include "troupe/actors/task/op_task.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/faulty_task.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Mirrored over two devices. One actor of its plan fails at a step.
class FaultyMirrored final : public Strategy {
 public:
  FaultyMirrored(std::string prefix, int replica, std::int64_t step, MirroredOptions options = {})
      : Strategy(two_places()),
        inner_(two_places(), options),
        prefix_(std::move(prefix)),
        replica_(replica),
        step_(step) {}

  Plan training_plan(const PlanRequest& request) const override {
    auto plan = inner_.training_plan(request);
    for (std::size_t id = 0; id < plan.actors.size(); ++id) {
      auto& actor = plan.actors[id];
      if (!actor.name.starts_with(prefix_) || actor.replica != replica_ || !actor.task.call) continue;
      actor.make_task = make_op_task;
      return with_fault(plan,
                        {static_cast<ActorId>(id), FaultPlace::fire, step_, [] { throw Error("fault", "injected"); }});
    }
    throw Error("test", "no actor begins with '" + prefix_ + "'");
  }

 private:
  Mirrored inner_;
  std::string prefix_;
  int replica_;
  std::int64_t step_;
};

const MirroredOptions kSmallBuckets{.first_bucket_bytes = 1, .bucket_bytes = 1};

Dataset data_of_48() {
  return small_dataset(48).shuffle(48).batch(8);
}

Trainer trainer_for(const Runtime& runtime, const Strategy& strategy, std::shared_ptr<ParameterStore> store,
                    Grain grain = Grain::fused) {
  const auto spec = small_spec();
  return Trainer(runtime, strategy, spec.model, spec.optimizer, spec.loss,
                 {.seed = 3, .grain = grain, .parameters = std::move(store), .name = "trainer"});
}

std::shared_ptr<ParameterStore> new_store() {
  return std::make_shared<ParameterStore>(3);
}

}  // namespace

TEST_CASE("an update that fails on one replica stops the next fit until the parameters are whole again") {
  const auto runs = schedules(40);
  std::uint64_t broken_runs = 0;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    INFO("seed " << seed);
    const auto store = new_store();
    const auto runtime = scheduled_runtime(seed);
    const FaultyMirrored faulty("optimizer.sgd_update", 1, 3, kSmallBuckets);
    CHECK_THROWS_WITH(
        trainer_for(runtime, faulty, store, seed % 2 == 0 ? Grain::per_op : Grain::fused).fit(data_of_48()),
        Contains("[fault] injected") && Contains("step 3, replica 1"));
    const Mirrored strategy(two_places());
    auto next = trainer_for(runtime, strategy, store);
    if (store->broken().empty()) continue;
    ++broken_runs;
    CHECK_THAT(store->broken(), Contains("may be half-written") && Contains("[fault] injected"));
    CHECK_THROWS_WITH(next.fit(data_of_48()), Contains("may be half-written"));
    try {
      store->recover();
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains("no replica is whole"));
      for (const auto& entry : store->entries()) store->set(entry.name, Tensor(entry.info.shape, entry.info.dtype));
    }
    next.fit(data_of_48());
    CHECK(store->hash(0) == store->hash(1));
  }
  CHECK(broken_runs > runs / 2);
}

TEST_CASE("with atomic steps every replica makes a step's updates or none does") {
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    INFO("seed " << seed);
    const auto store = new_store();
    const auto runtime = scheduled_runtime(seed);
    auto options = kSmallBuckets;
    options.atomic_steps = true;
    const FaultyMirrored faulty("pack_4", 1, 3, options);
    auto failing = trainer_for(runtime, faulty, store, seed % 2 == 0 ? Grain::per_op : Grain::fused);
    CHECK_THROWS_WITH(failing.fit(data_of_48()), Contains("step 3, replica 1"));
    CHECK(store->broken().empty());
    CHECK(store->hash(0) == store->hash(1));
    const OneDevice one;
    auto reference = trainer_for(runtime, one, new_store());
    reference.fit(data_of_48(), {.max_steps = 3});
    const Mirrored strategy(two_places(), options);
    auto whole = trainer_for(runtime, strategy, new_store());
    whole.fit(data_of_48(), {.max_steps = 3});
    CHECK(store->hash() == whole.parameters().hash());
  }
}

TEST_CASE("replicas stay equal when the strategy changes in mid-training") {
  const auto store = new_store();
  const auto runtime = scheduled_runtime(1);
  const Mirrored mirrored(two_places());
  const OneDevice one;
  trainer_for(runtime, mirrored, store).fit(data_of_48());
  trainer_for(runtime, one, store).fit(data_of_48());
  CHECK(store->hash(0) != store->hash(1));
  trainer_for(runtime, mirrored, store).fit(data_of_48());
  CHECK(store->hash(0) == store->hash(1));
  CHECK(store->position().epoch == 3);
}

TEST_CASE("two trainers of one name, an epoch each on shared parameters, are one of two epochs") {
  const auto runtime = scheduled_runtime(1);
  const OneDevice strategy;
  const auto shared = new_store(), whole = new_store();
  trainer_for(runtime, strategy, shared).fit(data_of_48());
  trainer_for(runtime, strategy, shared).fit(data_of_48());
  trainer_for(runtime, strategy, whole).fit(data_of_48(), {.epochs = 2});
  CHECK(shared->hash() == whole->hash());
}

TEST_CASE("between two epochs the parameters can be read and evaluated") {
  const auto runtime = scheduled_runtime(1);
  const OneDevice strategy;
  auto trainer = trainer_for(runtime, strategy, new_store());
  int evaluated = 0;
  trainer.fit(data_of_48(), {.epochs = 2, .on_epoch = [&](const EpochMetrics&) {
                               evaluated += trainer.evaluate(data_of_48()).rows == 48 ? 1 : 0;
                             }});
  CHECK(evaluated == 2);
}

TEST_CASE("an exception of a callback ends the run in order: equal replicas, right step, and the next fit goes on") {
  const Mirrored strategy(two_places(), kSmallBuckets);
  const auto train_whole = [&](std::int64_t steps) {
    auto whole = trainer_for(scheduled_runtime(1), strategy, new_store());
    whole.fit(data_of_48(), {.epochs = 9, .max_steps = steps});
    return whole.parameters().hash();
  };
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    INFO("seed " << seed);
    const auto store = new_store();
    auto trainer = trainer_for(scheduled_runtime(seed), strategy, store, seed % 2 == 0 ? Grain::per_op : Grain::fused);
    const auto throw_at = [](std::int64_t step) {
      return [step](const StepMetrics& metrics) {
        if (metrics.step == step) throw std::runtime_error("my own");
      };
    };
    CHECK_THROWS_WITH(trainer.fit(data_of_48(), {.epochs = 3, .on_step = throw_at(2)}), "my own");
    CHECK(store->hash(0) == store->hash(1));
    CHECK(trainer.steps() >= 3);
    CHECK(store->hash() == train_whole(trainer.steps()));
    const auto steps = trainer.steps();
    trainer.fit(data_of_48(), {.epochs = 9, .max_steps = 4});
    CHECK(trainer.steps() == steps + 4);
    CHECK(store->hash() == train_whole(steps + 4));
  }
}

TEST_CASE("a callback that throws in the middle of an epoch ends it at one step on all replicas") {
  const Mirrored strategy(two_places(), kSmallBuckets);
  // Far more steps than are made before the callback is called for the first time.
  const auto data = small_dataset(400'000).batch(8);
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    const auto store = new_store();
    auto trainer = trainer_for(runtime, strategy, store, grain);
    CHECK_THROWS_WITH(trainer.fit(data, {.on_step = [](const StepMetrics&) { throw std::runtime_error("my own"); }}),
                      "my own");
    REQUIRE(trainer.steps() < 50'000);
    CHECK(store->broken().empty());
    CHECK(store->hash(0) == store->hash(1));
    auto whole = trainer_for(runtime, strategy, new_store());
    whole.fit(data, {.max_steps = trainer.steps()});
    CHECK(store->hash() == whole.parameters().hash());
  }
}

TEST_CASE("the position after a failure is that of the parameters, so that no batch is left out or read twice") {
  const Mirrored strategy(two_places());
  auto whole = trainer_for(scheduled_runtime(1), strategy, new_store());
  whole.fit(data_of_48(), {.max_steps = 5});
  const auto runs = schedules(40);
  std::uint64_t whole_runs = 0;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    INFO("seed " << seed);
    const auto store = new_store();
    const auto runtime = scheduled_runtime(seed);
    // In the backward pass: the sinks have the loss of step 3 already, or not yet.
    const FaultyMirrored faulty("grad.matmul", 0, 3);
    CHECK_THROWS_WITH(
        trainer_for(runtime, faulty, store, seed % 2 == 0 ? Grain::per_op : Grain::chains).fit(data_of_48()),
        Contains("step 3, replica 0"));
    if (!store->broken().empty()) continue;
    CHECK(store->position().step == 3);
    CHECK(store->position().batch == 3);
    ++whole_runs;
    trainer_for(runtime, strategy, store).fit(data_of_48(), {.max_steps = 2});
    CHECK(store->hash() == whole.parameters().hash());
  }
  CHECK(whole_runs > runs / 2);
}

TEST_CASE("a callback that throws out of advance() lets the run end in order before it is passed on") {
  const Mirrored strategy(two_places(), kSmallBuckets);
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    const auto store = new_store();
    auto trainer = trainer_for(runtime, strategy, store, grain);
    const auto run = trainer.start(data_of_48(), {.epochs = 100'000, .on_step = [](const StepMetrics& step) {
                                                    if (step.step >= 2) throw std::runtime_error("my own");
                                                  }});
    CHECK_THROWS_WITH(eventually([&] { return run->advance(); }), "my own");
    CHECK(run->over());
    CHECK(store->broken().empty());
    CHECK(store->hash(0) == store->hash(1));
    auto whole = trainer_for(runtime, strategy, new_store());
    whole.fit(data_of_48(), {.epochs = 100'000, .max_steps = trainer.steps()});
    CHECK(store->hash() == whole.parameters().hash());
  }
}

TEST_CASE("a run that is dropped leaves the position of its parameters, or says that they are broken") {
  const OneDevice strategy;
  Runtime runtime({.workers = 2, .cpu_devices = 1});
  for (int i = 0; i < 20; ++i) {
    const auto store = new_store();
    auto trainer = trainer_for(runtime, strategy, store);
    {
      std::atomic<bool> begun{false};
      const auto run =
          trainer.start(data_of_48(), {.epochs = 100'000, .on_step = [&](const StepMetrics&) { begun = true; }});
      while (!begun) run->advance();
    }
    if (!store->broken().empty()) continue;
    CHECK(trainer.steps() > 0);
    auto whole = trainer_for(runtime, strategy, new_store());
    whole.fit(data_of_48(), {.epochs = 100'000, .max_steps = trainer.steps()});
    CHECK(store->hash() == whole.parameters().hash());
  }
}
