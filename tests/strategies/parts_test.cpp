// Replicas, devices and processes are three things: the same replicas train to the same bits wherever they live.

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include "troupe/actors/segment/task_registry.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/faulty_task.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// `replicas` over `parts` processes in equal shares, each on a device of its own or all of a process on one.
std::vector<Place> spread(int replicas, int parts, bool share_device) {
  std::vector<Place> places;
  for (int replica = 0; replica < replicas; ++replica)
    places.push_back({replica * parts / replicas, {DeviceType::cpu, share_device ? 0 : replica}});
  return places;
}

/// The hash after two epochs with uneven and empty last parts.
std::string train_replicas(const std::vector<Place>& places, int parts, Grain grain, std::uint64_t seed,
                           bool prefetch = false) {
  TrainerOptions options{.seed = 3, .grain = grain};
  const auto runtime = scheduled_runtime(seed);
  for (int part = 1; part < parts; ++part)
    options.other_parts.push_back(scheduled_runtime(seed + static_cast<std::uint64_t>(part)));
  const Mirrored strategy(places, {.first_bucket_bytes = 64, .bucket_bytes = 256});
  const auto spec = small_spec();
  Trainer trainer(runtime, strategy, spec.model, spec.optimizer, spec.loss, options);
  auto data = small_dataset(33).shuffle(33).batch(16);
  if (prefetch) data = data.prefetch(2);
  trainer.fit(data, {.epochs = 2});
  return trainer.parameters().hash();
}

/// A Mirrored plan in parts with stores of their own, to do things to.
struct Parts {
  Parts(int replicas, int count, Grain grain, std::uint64_t seed, const std::function<Plan(Plan)>& change = {},
        const MirroredOptions& options = {.first_bucket_bytes = 64, .bucket_bytes = 256})
      : data(small_dataset(400).batch(16)), log(replicas, spec, data.fields()) {
    const Mirrored strategy(spread(replicas, count, false), options);
    auto made = strategy.training_plan({spec, data, 0, log.sink_inputs()});
    if (change) made = change(std::move(made));
    plan = in_grain(std::move(made), grain);
    for (int part = 0; part < count; ++part) {
      SpawnContext context;
      stores.push_back(std::make_shared<ParameterStore>(1));
      context.store = stores.back();
      context.sources.emplace("data", data);
      context.tasks.emplace("metrics", log.sink(NonFiniteLoss::stop));
      setups.push_back({scheduled_runtime(seed + static_cast<std::uint64_t>(part)), context});
    }
  }

  TrainingSpec spec = small_spec();
  Dataset data;
  MetricsLog log;
  Plan plan;
  std::vector<std::shared_ptr<ParameterStore>> stores;
  std::vector<PartSetup> setups;
};

/// Starts plans of two parts and lets each come to a random moment, at which `then` does something to it. Copies are
/// whole afterwards, or say how they came to be broken.
void at_random_moments(const std::function<void(Parts&, SpawnedPlan&, std::uint64_t seed)>& then) {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    INFO("seed " << seed);
    Parts parts(2, 2, kGrains[seed % 3], seed);
    {
      SpawnedPlan spawned(parts.setups, parts.plan);
      spawned.start({0, 20, 0});
      run_some(parts.setups, seed, uniform_below(900, seed, 1, 1));
      then(parts, spawned, seed);
    }
    for (const auto& store : parts.stores)
      if (!store->broken().empty()) CHECK_THAT(store->broken(), Contains("half-written") && Contains("died"));
  }
}

ActorId random_op(const Plan& plan, std::uint64_t seed) {
  std::vector<ActorId> ops;
  for (std::size_t id = 0; id < plan.actors.size(); ++id)
    if (plan.actors[id].task.kind == "op") ops.push_back(static_cast<ActorId>(id));
  return ops[uniform_below(ops.size(), seed, 1, 0)];
}

}  // namespace

TEST_CASE("replicas on devices of their own, on a shared one, in one part or several: one hash") {
  for (int replicas : {2, 4}) {
    const auto expected = train_replicas(spread(replicas, 1, false), 1, Grain::fused, 1);
    for (const auto grain : kGrains) {
      for (int parts : {1, 2, 4}) {
        if (parts > replicas) continue;
        for (const bool share : {false, true}) {
          INFO(replicas << " replicas, " << parts << " parts, grain " << static_cast<int>(grain) << ", shared "
                        << share);
          CHECK(train_replicas(spread(replicas, parts, share), parts, grain, 7, share) == expected);
        }
      }
    }
  }
}

TEST_CASE("500 interleavings of two parts give one hash") {
  const auto expected = train_replicas(spread(2, 1, false), 1, Grain::fused, 1);
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + schedules(500); ++seed) {
    INFO("seed " << seed);
    CHECK(train_replicas(spread(2, 2, false), 2, kGrains[seed % 3], seed) == expected);
  }
}

TEST_CASE("an exception in one part ends all parts with its name and step, without a watchdog") {
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    INFO("seed " << seed);
    const auto step = static_cast<std::int64_t>(uniform_below(9, seed, 1, 1));
    std::string where;
    int other_part = 0;
    const auto change = [&](Plan plan) {
      const auto id = random_op(plan, seed);
      auto& actor = plan.actors[id];
      actor.make_task = find_task(actor.task.kind);
      where = "(op " + actor.name + ", step " + std::to_string(step) + ", replica " + std::to_string(actor.replica) +
              ", rank " + std::to_string(actor.place.process) + ")";
      other_part = 1 - actor.place.process;
      return with_fault(plan, {id, FaultPlace::fire, step, [] { throw Error("fault", "injected"); }});
    };
    const bool one_bucket = seed % 2 == 0;
    Parts parts(2, 2, kGrains[seed % 3], seed, change, one_bucket ? MirroredOptions{} : MirroredOptions{64, 256});
    SpawnedPlan spawned(parts.setups, parts.plan);
    spawned.start({0, 20, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("[fault] injected " + where));
    CHECK(spawned.failure()->kind == FailureKind::op_error);
    CHECK(spawned.drained());
    // Both have come to their end in order: what the run borrowed is back, and in the other part the step that failed
    // has reached none of the updates.
    if (one_bucket) CHECK_NOTHROW(parts.stores[static_cast<std::size_t>(other_part)]->hash(other_part));
  }
}

TEST_CASE("a stop ends all parts at the same step, with equal replicas") {
  at_random_moments([](Parts& parts, SpawnedPlan& spawned, std::uint64_t seed) {
    spawned.stop();
    spawned.wait();
    CHECK(parts.stores[0]->hash(0) == parts.stores[1]->hash(1));
    const auto steps = static_cast<std::int64_t>(parts.log.take().size());
    if (steps == 0) return;
    Parts undisturbed(2, 2, Grain::fused, seed);
    SpawnedPlan reference(undisturbed.setups, undisturbed.plan);
    reference.start({0, steps, 0});
    reference.wait();
    CHECK(undisturbed.stores[0]->hash(0) == parts.stores[0]->hash(0));
  });
}

TEST_CASE("a part that dies ends the others, and their copies are whole or refused") {
  at_random_moments([](Parts&, SpawnedPlan& spawned, std::uint64_t) {
    if (spawned.done()) return;
    caf::anon_send_exit(spawned.supervisor(1), caf::exit_reason::kill);
    for (const auto& actor : spawned.actors(1)) caf::anon_send_exit(actor, caf::exit_reason::kill);
    CHECK_THROWS_WITH(spawned.wait(), Contains("died"));
    CHECK(spawned.failure()->rank == 1);
  });
}

TEST_CASE("in several parts a training goes on from given parameters, on real threads too") {
  const auto data = small_dataset(33).shuffle(33).batch(16);
  const auto spec = small_spec();
  const auto epochs = [&](std::shared_ptr<ParameterStore> store, int parts, int count, bool threads) {
    const auto make_runtime = [&](std::uint64_t seed) {
      return threads ? Runtime({.workers = 2, .cpu_devices = 2}) : scheduled_runtime(seed);
    };
    TrainerOptions options{.grain = Grain::per_op, .parameters = store, .name = "trainer"};
    const auto runtime = make_runtime(1);
    for (int part = 1; part < parts; ++part) options.other_parts.push_back(make_runtime(2));
    const Mirrored strategy(spread(2, parts, false));
    Trainer trainer(runtime, strategy, spec.model, spec.optimizer, spec.loss, options);
    trainer.fit(data, {.epochs = count});
    return store->hash();
  };
  const auto expected = epochs(std::make_shared<ParameterStore>(3), 1, 3, false);
  for (const bool threads : {false, true}) {
    const auto store = std::make_shared<ParameterStore>(3);
    epochs(store, 1, 1, threads);
    epochs(store, 2, 1, threads);
    CHECK(epochs(store, 2, 1, threads) == expected);
    // From outside, with values that the parts have not drawn themselves.
    const auto loaded = std::make_shared<ParameterStore>(99);
    const auto first = std::make_shared<ParameterStore>(3);
    epochs(first, 1, 1, threads);
    for (const auto& entry : first->entries()) loaded->set(entry.name, first->get(entry.name));
    loaded->set_position(first->position());
    CHECK(epochs(loaded, 2, 2, threads) == expected);
  }
}
