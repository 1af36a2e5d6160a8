// Trains the perceptron on Fashion-MNIST with every strategy, in one process or in as many as there are workers.
// Measures the steps and seconds of training until it reaches each of two accuracies on the test data. Prints rows of a
// table.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "troupe/examples/models.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/server_places.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;

namespace {

constexpr std::int64_t kBatch = 128;
/// The number of batches between two evaluations on the test data.
constexpr std::int64_t kEvaluateEvery = 48;

struct Setting {
  int workers = 2;
  bool processes = false;
  std::int64_t max_epochs = 15;
  double first = 0.85, second = 0.87;
  std::vector<std::string> strategies;
};

const std::vector<std::string> kStrategies{"mirrored", "central_storage", "sync",      "backup", "bounded",
                                           "async",    "compensated",     "local_sgd", "diloco"};

ConsistencyRule rule_named(const std::string& name, int workers) {
  if (name == "backup") return ConsistencyRule::with_backup(workers, 1);
  if (name == "bounded") return ConsistencyRule::bounded(workers, 4);
  if (name == "async") return ConsistencyRule::asynchronous(workers);
  if (name == "compensated") return ConsistencyRule::compensated(workers, 0.04);
  return ConsistencyRule::synchronous(workers);
}

std::unique_ptr<Strategy> strategy_named(const std::string& name, const Setting& setting, const Runtime& runtime,
                                         Cluster* cluster) {
  if (name == "mirrored" && cluster != nullptr)
    return std::make_unique<MultiWorkerMirrored>(*cluster, std::vector{runtime.devices()[0]});
  if (name == "mirrored") return std::make_unique<Mirrored>(runtime.devices());
  const auto at = cluster != nullptr ? server_places(*cluster, {Device{}}, 1)
                                     : ServerPlaces{places_of(runtime.devices()), {Place{}}, {}};
  if (name == "central_storage") return std::make_unique<CentralStorage>(at.workers, at.servers.front());
  if (name == "local_sgd") return std::make_unique<LocalSgd>(at.workers, at.servers);
  if (name == "diloco") return std::make_unique<DiLoCo>(at.workers, at.servers, 8);
  return std::make_unique<ParameterServer>(at.workers, at.servers, rule_named(name, setting.workers));
}

/// The steps and seconds until an accuracy was reached.
struct Reached {
  std::int64_t steps = -1;
  double seconds = 0.0;

  void note(double accuracy, double target, std::int64_t steps_now, double seconds_now) {
    if (steps < 0 && accuracy >= target) *this = {steps_now, seconds_now};
  }
  std::string text() const {
    if (steps < 0) return "- | -";
    char text[64];
    std::snprintf(text, sizeof text, "%lld | %.1f", static_cast<long long>(steps), seconds);
    return text;
  }
};

void train(const Setting& setting, const std::string& name, int rank, int port) {
  std::shared_ptr<Cluster> cluster;
  if (setting.processes) {
    ClusterOptions options;
    options.job = resolve_job({rank, setting.workers, "127.0.0.1:" + std::to_string(port)});
    cluster = join_cluster(options);
  }
  const Runtime runtime({.workers = cluster ? 1 : 0, .cpu_devices = cluster ? 1 : setting.workers});
  const auto strategy = strategy_named(name, setting, runtime, cluster.get());
  Trainer trainer(runtime, *strategy, examples::mlp(), Adam{.lr = 0.001}, SoftmaxCrossEntropy{},
                  {.seed = 5, .cluster = cluster});
  const auto data = fashion_mnist(Split::train).shuffle(60'000).batch(kBatch);
  const auto test = fashion_mnist(Split::test).batch(1000);
  Reached first, second;
  std::int64_t steps = 0, rows = 0;
  double seconds = 0.0, best = 0.0;
  while (second.steps < 0 && rows < setting.max_epochs * data.rows()) {
    const auto look = kEvaluateEvery * kBatch / strategy->step_rows(kBatch);
    const auto fit = trainer.fit(data, {.epochs = 1, .max_steps = look});
    const auto accuracy = trainer.evaluate(test)["accuracy"];
    steps += fit.steps;
    rows += fit.rows;
    seconds += fit.seconds;
    best = std::max(best, accuracy);
    first.note(accuracy, setting.first, steps, seconds);
    second.note(accuracy, setting.second, steps, seconds);
  }
  if (cluster) cluster->leave();
  if (rank == 0)
    std::printf("| %s | %d | %s | %s | %s | %.4f |\n", name.c_str(), setting.workers,
                setting.processes ? "each its own process" : "one process", first.text().c_str(), second.text().c_str(),
                best);
}

/// Trains in child processes, which are made while this process has no threads.
bool train_apart(const Setting& setting, const std::string& name) {
  static int number = 0;
  const int port = 20'000 + (getpid() + 17 * ++number) % 10'000;
  std::fflush(stdout);
  const int count = setting.processes ? setting.workers : 1;
  for (int rank = 0; rank < count; ++rank) {
    if (fork() > 0) continue;
    int status = 0;
    try {
      train(setting, name, rank, port);
    } catch (const std::exception& error) {
      std::cerr << "time_to_accuracy: " << name << ": " << error.what() << std::endl;
      status = 1;
    }
    std::fflush(stdout);
    std::_Exit(status);
  }
  bool good = true;
  for (int rank = 0; rank < count; ++rank) {
    int status = 0;
    wait(&status);
    good = good && status == 0;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  CLI::App app("Steps and seconds of training to an accuracy, with every strategy", "time_to_accuracy");
  app.add_option("--workers", setting.workers)->check(CLI::Range(1, 64));
  app.add_flag("--processes", setting.processes, "each worker in a process of its own");
  app.add_option("--epochs", setting.max_epochs, "at most")->check(CLI::Range(1, 1000));
  app.add_option("--first", setting.first, "accuracy whose steps and seconds are shown")->check(CLI::Range(0.1, 1.0));
  app.add_option("--second", setting.second, "accuracy at which training ends")->check(CLI::Range(0.1, 1.0));
  app.add_option("--strategies", setting.strategies, "default: all")->delimiter(',')->check(CLI::IsMember(kStrategies));
  CLI11_PARSE(app, argc, argv);
  if (setting.strategies.empty()) setting.strategies = kStrategies;
  std::printf("| strategy | workers | in | steps to %.2f | seconds | steps to %.2f | seconds | best |\n", setting.first,
              setting.second);
  bool good = true;
  for (const auto& name : setting.strategies) good = train_apart(setting, name) && good;
  return good ? 0 : 1;
}
