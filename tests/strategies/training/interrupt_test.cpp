#include "troupe/strategies/training/interrupt.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

volatile std::sig_atomic_t own_handler_calls = 0;

/// A handler of the program's own, for as long as it lives.
class OwnHandler {
 public:
  explicit OwnHandler(int signal) : signal_(signal) {
    own_handler_calls = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { own_handler_calls = own_handler_calls + 1; };
    sigaction(signal, &action, &before_);
  }
  ~OwnHandler() { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

/// The numbers of all threads that the kernel lists.
std::set<std::string> threads_of_process() {
  std::set<std::string> threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(task.path().filename().string());
  return threads;
}

/// Threads that were not there before. Waits for them to go, since the kernel lists a thread for a moment longer than
/// join() waits for it; for the same reason `before` may hold some that have ended since.
std::set<std::string> threads_besides(const std::set<std::string>& before) {
  const auto deadline = std::chrono::steady_clock::now() + patience();
  std::set<std::string> others;
  do {
    const auto now = threads_of_process();
    others.clear();
    std::ranges::set_difference(now, before, std::inserter(others, others.end()));
    if (!others.empty()) std::this_thread::yield();
  } while (!others.empty() && std::chrono::steady_clock::now() < deadline);
  return others;
}

}  // namespace

TEST_CASE("a signal raises the flag and nothing else; a new guard starts without one") {
  for (int signal : {SIGTERM, SIGINT}) {
    const OwnHandler own(signal);
    const InterruptGuard guard;
    CHECK(guard.signal() == 0);
    std::raise(signal);
    CHECK(guard.signal() == signal);
    CHECK(own_handler_calls == 0);
  }
}

TEST_CASE("after the guard a signal finds what was there before it") {
  for (int signal : {SIGTERM, SIGINT}) {
    const OwnHandler own(signal);
    { const InterruptGuard guard; }
    std::raise(signal);
    CHECK(own_handler_calls == 1);
  }
}

TEST_CASE("a second signal ends the process") {
  const auto child = fork();
  if (child == 0) {
    const InterruptGuard guard;
    std::raise(SIGINT);
    std::raise(SIGINT);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
}

TEST_CASE("a signal ends a fit in order, at the same step on all replicas, and the next fit goes on there") {
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  const Mirrored strategy(runtime.devices());
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(50).batch(16);
  {
    const InterruptGuard guard;
    const auto result = trainer.fit(data, {.epochs = 1'000'000,
                                           .on_step =
                                               [](const StepMetrics& step) {
                                                 if (step.step == 5) std::raise(SIGINT);
                                               },
                                           .stop_requested = [&] { return guard.signal() != 0; }});
    CHECK(result.stopped);
    CHECK(result.steps > 5);
    CHECK(trainer.steps() == result.steps);
  }
  CHECK(trainer.parameters().hash(0) == trainer.parameters().hash(1));
  const auto steps = trainer.steps();
  trainer.fit(data, {.max_steps = 1});
  CHECK(trainer.steps() == steps + 1);
}

TEST_CASE(
    "a signal at any step ends all parts of a plan at one step, with the undisturbed run's bits and no thread left") {
  const auto data = small_dataset(50).batch(16);
  const auto threads_before = threads_of_process();
  for (std::uint64_t i = 0; i < fuzz_cases(200); ++i) {
    const int parts = 1 + static_cast<int>(i % 2);
    const auto at = static_cast<std::int64_t>(7 * i % 90);
    const auto grain = static_cast<Grain>(i / 2 % 3);
    const auto store = std::make_shared<ParameterStore>(3);
    const auto fit = [&](const std::shared_ptr<ParameterStore>& parameters, const FitOptions& options) {
      const Runtime runtime({.workers = 2, .cpu_devices = 2});
      TrainerOptions setup{.grain = grain, .parameters = parameters, .name = "trainer"};
      if (parts == 2) setup.other_parts.emplace_back(RuntimeOptions{.workers = 2, .cpu_devices = 2});
      const Mirrored strategy(std::vector<Place>{{0, {DeviceType::cpu, 0}}, {parts - 1, {DeviceType::cpu, 1}}});
      Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, setup);
      return trainer.fit(data, options);
    };
    const InterruptGuard guard;
    const auto result = fit(store, {.epochs = 1'000'000,
                                    .on_step =
                                        [&](const StepMetrics& step) {
                                          if (step.step == at) std::raise(SIGINT);
                                        },
                                    .stop_requested = [&] { return guard.signal() != 0; }});
    CHECK(result.stopped);
    CHECK(result.steps > at);
    const auto undisturbed = std::make_shared<ParameterStore>(3);
    fit(undisturbed, {.epochs = 1'000'000, .max_steps = result.steps});
    CHECK(store->hash() == undisturbed->hash());
  }
  CHECK(threads_besides(threads_before).empty());
}
