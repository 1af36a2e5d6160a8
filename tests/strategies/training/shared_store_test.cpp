// Fits that share a store with other fits, or the threads of a runtime with other actors.

#include <atomic>
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/long_fit.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A model whose output is x times a parameter, which each update of Sgd{.lr = 1} raises by one.
auto rising(const std::string& name) {
  return [name](const Inputs& in) -> Outputs {
    return {{"sum", matmul(in["x"], in.builder().parameter(name, {1, kColumns}, Initializer::zeros()))}};
  };
}

}  // namespace

TEST_CASE("threads predict and set what each of two fits on one store trains") {
  const Runtime runtime;
  const OneDevice strategy;
  const auto store = std::make_shared<ParameterStore>(1);
  Trainer first(runtime, strategy, rising("a"), Sgd{.lr = 1.0}, falling_loss, {.parameters = store});
  Trainer second(runtime, strategy, rising("b"), Sgd{.lr = 1.0}, falling_loss, {.parameters = store});
  LongFit first_fit(first, ones(64).batch(4)), second_fit(second, ones(1'000'000).batch(1));
  std::atomic<std::int64_t> falls{0};
  std::vector<std::thread> threads;
  for (auto* trainer : {&first, &second})
    threads.emplace_back([&falls, trainer] {
      Predictor predictor(*trainer, ones(1).fields(), {.refresh = std::chrono::milliseconds(1)});
      float last = -1.0F;
      const auto deadline = std::chrono::steady_clock::now() + patience();
      // Until the fit has published several versions.
      for (int risen = 0; risen < 10 && std::chrono::steady_clock::now() < deadline;) {
        const auto value = predictor.predict({{"x", ones(1).array("x")}}).data<float>()[0];
        falls += value < last ? 1 : 0;
        risen += value > last ? 1 : 0;
        last = value;
      }
    });
  threads.emplace_back([&] {
    // The values rise, so that predictions must not fall.
    for (int i = 1; i <= 5; ++i) {
      first.set_parameters({{"a", filled(1e6F * static_cast<float>(i))}});
      second.set_parameters({{"b", filled(1e6F * static_cast<float>(i))}});
    }
  });
  for (auto& thread : threads) thread.join();
  CHECK(falls == 0);
  CHECK(first_fit.stop().steps > 0);
  CHECK(second_fit.stop().steps > 0);
  for (const auto* name : {"a", "b"}) CHECK(store->get(name).data<float>()[0] >= 5e6F);
}

TEST_CASE("a thread on which an actor has started a fit waits for a boundary that another actor opens") {
  const Runtime runtime({.workers = 2});
  const OneDevice strategy;
  auto trainer = trainer_of_two(runtime, strategy);
  std::mutex mutex;
  std::unique_ptr<TrainingRun> run;
  std::promise<void> over;
  std::promise<std::string> read;
  const auto driver = runtime.system().spawn([&](caf::event_based_actor* self) {
    return caf::behavior{[&, self](caf::tick_atom) {
      std::lock_guard lock(mutex);
      if (!run->advance()) return;
      over.set_value();
      self->quit();
    }};
  });
  const auto starter = runtime.system().spawn<caf::detached>([&](caf::event_based_actor* self) {
    return caf::behavior{[&, self](caf::tick_atom) {
      std::string error;
      {
        std::lock_guard lock(mutex);
        // An epoch that does not end before the test does.
        run = trainer.start(ones(1'000'000).batch(1));
        run->on_progress([driver] { post(driver, caf::tick_atom_v); });
      }
      try {
        (void)trainer.parameters().get("a");
      } catch (const Error& refused) {
        error = refused.what();
      }
      read.set_value(error);
      self->quit();
    }};
  });
  post(starter, caf::tick_atom_v);
  CHECK(read.get_future().get().empty());
  {
    std::lock_guard lock(mutex);
    run->stop();
  }
  over.get_future().wait();
  CHECK(run->result().stopped);
}
