#include "troupe/strategies/training/background_fit.hpp"

#include <condition_variable>
#include <mutex>

#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a fit in the background comes to the same parameters, and says when it is over") {
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  const Mirrored strategy(cpu_devices(2));
  auto expected = small_trainer(runtime, strategy, {.seed = 3});
  expected.fit(data_of_50(), {.epochs = 2});
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  std::mutex mutex;
  std::condition_variable over;
  bool called = false;
  BackgroundFit fit(trainer, data_of_50(), {.epochs = 2}, [&] {
    std::lock_guard lock(mutex);
    called = true;
    over.notify_one();
  });
  std::unique_lock lock(mutex);
  REQUIRE(over.wait_for(lock, patience(), [&] { return called; }));
  CHECK(fit.ended());
  CHECK(fit.get().steps == 8);
  CHECK(trainer.parameters().hash() == expected.parameters().hash());
}

TEST_CASE("a fit in the background can be stopped, and keeps its trainer to itself") {
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  std::promise<void> begun;
  BackgroundFit fit(trainer, data_of_50(),
                    {.epochs = 1'000'000, .on_epoch = [&, first = true](const EpochMetrics&) mutable {
                       if (first) begun.set_value();
                       first = false;
                     }});
  REQUIRE(begun.get_future().wait_for(patience()) == std::future_status::ready);
  CHECK_THROWS_WITH(trainer.evaluate(data_of_50()), Contains("in use on another thread"));
  fit.stop();
  REQUIRE(fit.result().wait_for(patience()) == std::future_status::ready);
  CHECK(fit.get().stopped);
  CHECK(trainer.evaluate(data_of_50()).rows == 50);
}

TEST_CASE("what a fit in the background throws comes with its result") {
  Runtime runtime({.workers = 1, .cpu_devices = 1});
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy);
  {
    BackgroundFit fit(trainer, data_of_50().take(0));
    CHECK_THROWS_WITH(fit.get(), Contains("no data to train on"));
  }
  // Dropped while it runs: stopped and waited for.
  { BackgroundFit dropped(trainer, data_of_50(), {.epochs = 1'000'000}); }
  CHECK(trainer.evaluate(data_of_50()).rows == 50);
}
