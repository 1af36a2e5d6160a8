// Other threads read and set the parameters of a fit in progress, at its step boundaries.

#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <future>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/tests/strategies/training/long_fit.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<std::unique_ptr<Strategy>> strategies() {
  std::vector<std::unique_ptr<Strategy>> all;
  all.push_back(std::make_unique<OneDevice>());
  all.push_back(std::make_unique<Mirrored>(cpu_devices(2)));
  all.push_back(std::make_unique<ParameterServer>(places_of(cpu_devices(2)), places_of(cpu_devices(2)),
                                                  ConsistencyRule::asynchronous(2)));
  return all;
}

}  // namespace

TEST_CASE("threads predict with one version while a fit trains and another thread sets the parameters") {
  for (const auto& strategy : strategies()) {
    const Runtime runtime;
    auto trainer = trainer_of_two(runtime, *strategy);
    LongFit fit(trainer, ones(64).batch(4));
    std::atomic<bool> done{false};
    std::atomic<std::int64_t> torn{0}, predictions{0}, of_fit{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        Predictor predictor(trainer, ones(1).fields(), {.refresh = std::chrono::milliseconds(1)});
        while (!done) {
          const auto predicted = predictor.predict({{"x", ones(1).array("x")}}, "difference");
          for (const auto element : predicted.data<float>()) torn += element != 0.0F ? 1 : 0;
          of_fit += predictor.parameters_age().count() > 0 ? 1 : 0;
          ++predictions;
        }
      });
    for (int i = 1; i <= 50; ++i) {
      const auto value = filled(static_cast<float>(1'000 * i));
      trainer.set_parameters({{"a", value}, {"b", value}});
      // A reader on this thread sees the value that was set, or the updates that followed.
      const auto arrays = trainer.parameter_arrays();
      REQUIRE(arrays.size() == 2);
      CHECK(arrays[0].second.data<float>()[0] >= value.data<float>()[0]);
      CHECK(std::ranges::equal(arrays[0].second.data<float>(), arrays[1].second.data<float>()));
    }
    while (predictions < 200 || of_fit < 10) std::this_thread::yield();
    done = true;
    for (auto& thread : threads) thread.join();
    const auto result = fit.stop();
    CHECK(torn == 0);
    CHECK(result.steps > 0);
    // All updates are those since the last value was set.
    const auto last = trainer.parameters().get("a").data<float>()[0];
    CHECK(last >= 50'000.0F);
    CHECK(last <= 50'000.0F + static_cast<float>(result.steps));
    for (int replica = 1; replica < trainer.parameters().entries().front().copies; ++replica)
      CHECK(trainer.parameters().hash(replica) == trainer.parameters().hash(0));
  }
}

TEST_CASE("values that are read in a fit are those of one step, and a fit has the same bits without a reader") {
  const Runtime runtime;
  const Mirrored strategy(cpu_devices(2));
  const auto train = [&](bool with_reader) {
    auto trainer = trainer_of_two(runtime, strategy, Adam{.lr = 0.01});
    trainer.fit(ones(64).batch(4), {.max_steps = 1});
    std::atomic<bool> over{false};
    std::atomic<int> reads{0};
    std::thread reader([&] {
      while (with_reader && !over) {
        const auto values = trainer.parameters().get(std::vector<std::string>{"a", "b", "a/adam/updates"});
        // Adam moves an element by lr in each step, since the gradient is always the same.
        const auto expected = 0.01F * values[2].data<float>()[0];
        CHECK(std::abs(values[0].data<float>()[0] - expected) <= 1e-3F * (1.0F + expected));
        CHECK(values[0].data<float>()[0] == values[1].data<float>()[0]);
        ++reads;
      }
    });
    trainer.fit(ones(64).batch(4), {.epochs = 100});
    over = true;
    reader.join();
    if (with_reader) CHECK(reads > 0);
    return trainer.parameters().hash();
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("the thread that drives a fit cannot wait for a boundary of the fit") {
  const Runtime runtime;
  const OneDevice strategy;
  auto trainer = trainer_of_two(runtime, strategy);
  std::string set, read;
  trainer.fit(ones(8).batch(4), {.epochs = 20,
                                 .on_step =
                                     [&](const StepMetrics& step) {
                                       if (step.step > 0) return;
                                       try {
                                         trainer.set_parameters({{"a", filled(1)}});
                                       } catch (const Error& error) {
                                         set = error.what();
                                       }
                                     },
                                 .on_epoch =
                                     [&](const EpochMetrics&) {
                                       trainer.set_parameters({{"a", filled(0)}});
                                     }});
  CHECK((set.empty() || set.find("is being written by") != std::string::npos));
  CHECK(trainer.parameters().get("a").data<float>()[0] == 0.0F);
  auto run = trainer.start(ones(8).batch(4), {.epochs = 100'000});
  try {
    (void)trainer.parameters().get("a");
  } catch (const Error& error) {
    read = error.what();
  }
  CHECK(read.find("is being written by") != std::string::npos);
  run->stop();
  run->wait();
  (void)trainer.parameters().get("a");
}

TEST_CASE("a value of another shape changes nothing in a fit, which goes on") {
  const Runtime runtime;
  const OneDevice strategy;
  auto trainer = trainer_of_two(runtime, strategy);
  LongFit fit(trainer, ones(64).batch(4));
  CHECK_THROWS_WITH(trainer.set_parameters({{"a", filled(5)}, {"b", Tensor(Shape{2}, DType::float32)}}),
                    Contains("[store] parameter 'b' is"));
  CHECK_THROWS_WITH(trainer.set_parameters({{"c", filled(5)}}), Contains("has no parameter 'c'"));
  const auto arrays = trainer.parameter_arrays();
  CHECK(arrays[0].second.data<float>()[0] == arrays[1].second.data<float>()[0]);
  CHECK(fit.stop().steps > 0);
}

TEST_CASE("the parameters of a fit that is recorded cannot be set by another thread") {
  const Runtime runtime;
  const ParameterServer strategy(places_of(cpu_devices(2)), places_of(cpu_devices(2)),
                                 ConsistencyRule::asynchronous(2));
  auto trainer = trainer_of_two(runtime, strategy);
  const auto file = std::filesystem::temp_directory_path() / ("published_versions_test." + std::to_string(getpid()));
  // An epoch that does not end before the test does.
  LongFit fit(trainer, ones(1'000'000).batch(1), {.record = file.string()});
  CHECK_THROWS_WITH(trainer.set_parameters({{"a", filled(5)}}), Contains("is being written by"));
  fit.stop();
  std::filesystem::remove(file);
}

TEST_CASE("a value that one process sets in a fit reaches all processes between the same two steps") {
  constexpr int kProcesses = 3;
  constexpr std::int64_t kSets = 10;
  const auto address = new_address();
  std::vector<std::string> hashes(kProcesses);
  std::vector<float> last(kProcesses);
  std::atomic<std::int64_t> torn{0};
  std::atomic<bool> done{false};
  std::array<std::atomic<int>, kProcesses> of_fit{};
  const auto ends = on_processes(kProcesses, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, kProcesses, address));
    const Runtime runtime({.workers = 1, .cpu_devices = kProcesses});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    Trainer trainer(runtime, strategy, two_parameters, Sgd{.lr = 1.0}, falling_loss, {.cluster = cluster});
    trainer.fit(ones(64).batch(6), {.max_steps = 1});
    std::atomic<bool> fits{false};
    std::thread other([&] {
      if (rank == 2) return;
      const auto deadline = std::chrono::steady_clock::now() + patience();
      Predictor predictor(trainer, ones(1).fields(), {.refresh = std::chrono::milliseconds(1)});
      const auto predict = [&] {
        const auto predicted = predictor.predict({{"x", ones(1).array("x")}}, "difference");
        for (const auto element : predicted.data<float>()) torn += element != 0.0F ? 1 : 0;
      };
      // A value that is set before the fit is one of this process alone.
      while (!fits && std::chrono::steady_clock::now() < deadline) predict();
      for (std::int64_t i = 1; i <= kSets; ++i) {
        // Rank 1 sets; rank 0 predicts only.
        const auto value = filled(1'000.0F * static_cast<float>(i));
        if (rank == 1) trainer.set_parameters({{"a", value}, {"b", value}});
        predict();
      }
      while (predictor.parameters_age().count() == 0 && std::chrono::steady_clock::now() < deadline) predict();
      of_fit[static_cast<std::size_t>(rank)] = predictor.parameters_age().count() > 0 ? 1 : 0;
      if (rank == 1) done = true;
    });
    // Only rank 0 asks for the end, so the others end with it.
    trainer.fit(ones(64).batch(6), {.epochs = 1'000'000,
                                    .on_step = [&](const StepMetrics&) { fits = true; },
                                    .stop_requested = [&] { return rank == 0 && done; }});
    other.join();
    hashes[static_cast<std::size_t>(rank)] = trainer.parameters().hash();
    last[static_cast<std::size_t>(rank)] = trainer.parameters().get("a").data<float>()[0];
    cluster->leave();
  });
  CHECK(ends == Ends(kProcesses));
  CHECK(torn == 0);
  // The copy that a predictor of rank 1 reads is not the one that the rank trains.
  CHECK(of_fit[1] == 1);
  for (const auto& hash : hashes) CHECK(hash == hashes.front());
  for (const auto value : last) CHECK(value >= 1'000.0F * kSets);
  for (const auto value : last) CHECK(value == last.front());
}
