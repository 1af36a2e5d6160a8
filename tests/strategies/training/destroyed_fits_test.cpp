// Fits that are destroyed before they end.

#include <future>
#include <set>

#include "troupe/actors/shard/update_count.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<Place> servers(int count) {
  return std::vector<Place>(static_cast<std::size_t>(count));
}

/// Destroys a fit at a random moment.
void destroy_fit(Runtime& runtime, Trainer& trainer, std::uint64_t seed) {
  const auto run = trainer.start(data_of_50());
  run_some({{runtime, {}}}, seed, 20 + seed % 200);
}

/// Destroys fits at random moments. Returns the number of fits that leave broken parameters. In every other fit, all
/// trained parameters have equally many updates.
int broken_fits(const Strategy& strategy, std::uint64_t fits) {
  int broken = 0;
  for (std::uint64_t seed = 0; seed < fits; ++seed) {
    INFO("seed " << seed);
    auto runtime = scheduled_runtime(seed);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    destroy_fit(runtime, trainer, seed);
    const auto& store = trainer.parameters();
    if (!store.broken().empty()) {
      ++broken;
      continue;
    }
    std::set<std::int64_t> updates;
    for (const auto& entry : store.entries())
      if (entry.trainable) updates.insert(store.newest_updates(entry.name).value());
    CHECK(updates.size() == 1);
  }
  return broken;
}

}  // namespace

TEST_CASE("the parameters are broken if a fit is destroyed after some of its servers have made an update") {
  const auto workers = places_of(cpu_devices(2));
  const auto rule = ConsistencyRule::synchronous(2);
  CHECK(broken_fits(ParameterServer(workers, servers(2), rule), 300) > 0);
  CHECK(broken_fits(LocalSgd(workers, servers(2), {2, Sgd{.lr = 1.0}}), 300) > 0);
  CHECK(broken_fits(ParameterServer(workers, servers(1), rule), 100) == 0);
  // A worker updates the state of its hook before the server makes the update.
  CHECK(broken_fits(ParameterServer(workers, servers(1), rule, {.hook = std::make_shared<TopKGradients>(0.2)}), 200) ==
        0);
}

TEST_CASE("a destroyed fit takes no steps back if another replica has older parameters") {
  const Mirrored mirrored(cpu_devices(2));
  const OneDevice one;
  int broken = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    auto runtime = scheduled_runtime(seed, 2);
    const auto store = std::make_shared<ParameterStore>();
    const TrainerOptions options{.grain = Grain::per_op, .parameters = store, .name = "trainer"};
    small_trainer(runtime, mirrored, options).fit(data_of_50());
    auto trainer = small_trainer(runtime, one, options);
    trainer.fit(data_of_50());
    destroy_fit(runtime, trainer, seed);
    CHECK(trainer.steps() >= 8);
    broken += store->broken().empty() ? 0 : 1;
  }
  CHECK(broken > 0);
}

TEST_CASE("a fit may be destroyed on another thread than the one that has started its run") {
  Runtime runtime({.workers = 1, .cpu_devices = 2});
  const ParameterServer strategy(places_of(cpu_devices(2)), servers(1), ConsistencyRule::asynchronous(2));
  auto trainer = small_trainer(runtime, strategy);
  std::promise<void> over;
  auto run = trainer.start(data_of_50(), {.max_steps = 3});
  run->on_progress([&, told = false]() mutable {
    if (!std::exchange(told, true)) over.set_value();
  });
  REQUIRE(over.get_future().wait_for(patience()) == std::future_status::ready);
  std::async(std::launch::async, [&] { run.reset(); }).get();
  const auto& store = trainer.parameters();
  CHECK(trainer.steps() == 3);
  CHECK(UpdateCount::read(store.get(UpdateCount::kOfGradients)).step == 3);
}
