// Strategies with equal copies of parameters, and strategies whose replicas have parameters of their own, on one store.

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/examples/custom_strategies/gossip_ring.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A gossip ring that does not say whether its copies are equal.
class UndeclaredRing final : public Strategy {
 public:
  explicit UndeclaredRing(const std::vector<Place>& places) : Strategy(places), ring_(places) {}
  Plan training_plan(const PlanRequest& request) const override { return ring_.training_plan(request); }

 private:
  GossipRing ring_;
};

/// Two copies of the small model that have learned apart.
std::shared_ptr<ParameterStore> copies_apart(Runtime& runtime, const Strategy& ring) {
  auto store = std::make_shared<ParameterStore>(3);
  auto trainer = small_trainer(runtime, ring, {.parameters = store});
  trainer.fit(data_of_50());
  CHECK(std::isfinite(trainer.evaluate(data_of_50()).loss));
  REQUIRE(store->hash(0) != store->hash(1));
  return store;
}

}  // namespace

TEST_CASE("copies that have learned apart are refused by a strategy with equal ones, until one is kept") {
  const auto places = places_of(cpu_devices(2));
  const GossipRing declared(places);
  const UndeclaredRing undeclared(places);
  for (const Strategy* ring : {static_cast<const Strategy*>(&declared), static_cast<const Strategy*>(&undeclared)}) {
    auto runtime = scheduled_runtime(4);
    const auto store = copies_apart(runtime, *ring);
    const Mirrored mirrored(places);
    auto trainer = small_trainer(runtime, mirrored, {.parameters = store});
    const auto refusal = Contains("[store] replicas 0 and 1 have different copies of");
    CHECK_THROWS_WITH(trainer.fit(data_of_50()), refusal);
    CHECK_THROWS_WITH(trainer.evaluate(data_of_50()), refusal);
    const auto kept = store->hash(1);
    store->keep(1);
    CHECK(store->hash(0) == kept);
    trainer.fit(data_of_50());
    CHECK(store->hash(0) == store->hash(1));
    CHECK(store->hash(0) != kept);
    // The ring trains equal copies as well, which differ afterwards.
    small_trainer(runtime, *ring, {.parameters = store}).fit(data_of_50());
    CHECK_THROWS_WITH(trainer.fit(data_of_50()), refusal);
  }
}

TEST_CASE("a strategy with one replica goes on from the first copy, which a mirrored one takes only if it is kept") {
  auto runtime = scheduled_runtime(4);
  const auto places = places_of(cpu_devices(2));
  const auto store = copies_apart(runtime, GossipRing(places));
  const OneDevice one;
  small_trainer(runtime, one, {.parameters = store}).fit(data_of_50());
  const auto newest = store->hash(0);
  const Mirrored mirrored(places);
  auto trainer = small_trainer(runtime, mirrored, {.parameters = store});
  const auto other = store->hash(1);
  const auto refusal = Contains("[store] replicas 0 and 1 have different copies of");
  // The first copy has more updates than the other, which must not be lost by a run that needs equal ones.
  CHECK_THROWS_WITH(trainer.evaluate(data_of_50()), refusal);
  CHECK(store->hash(1) == other);
  store->keep(0);
  CHECK(std::isfinite(trainer.evaluate(data_of_50()).loss));
  CHECK(store->hash(1) == newest);
  trainer.fit(data_of_50());
  CHECK(store->hash(0) == store->hash(1));
}

TEST_CASE("copies that were declared equal and have had different numbers of updates fail the run") {
  /// Updates its copy in every step, or in every second one.
  struct Updater : PortActor {
    Updater(caf::actor_config& config, std::int64_t every) : PortActor(config), every_(every) {}
    void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor>) override {
      if (step % every_ == 0) update_parameter(0, [](const Tensor& w) { w.mutable_data<float>()[0] += 1.0F; });
    }
    std::int64_t every_;
  };
  for (const std::int64_t every : {1, 2}) {
    Plan plan;
    const auto source = plan.add(counting_source("source", 5));
    for (int replica = 0; replica < 2; ++replica) {
      plan.add_parameter({{"w", replica}, {Shape{1}, DType::float32}, Device{}, Initializer::constant(0.0), true});
      auto updater = external<Updater>("updater" + std::to_string(replica),
                                       {.inputs = {kPair}, .parameters = {{{"w", replica}, true}}},
                                       replica == 0 ? std::int64_t{1} : every);
      plan.connect(source, 0, plan.add(std::move(updater)));
    }
    SpawnContext context;
    context.equal_copies = true;
    SpawnedPlan spawned(scheduled_runtime(1), split(plan), context);
    spawned.start({});
    if (every == 1)
      spawned.wait();
    else
      CHECK_THROWS_WITH(spawned.wait(), Contains("[store] replica 1 has made 3 updates and replica 0 5"));
  }
}
