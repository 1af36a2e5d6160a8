// Measures one slow worker among four: the throughput, and the time to an accuracy, under each consistency rule for the
// parameters. A worker's step is a computation and a pause, as if the worker had its own machine; the pause of the slow
// worker is a multiple of that of the others. The reference is the sum of the throughputs of three fast workers and a
// slow one that work independently. All variants alternate.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/examples/models.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

struct Flags {
  int workers = 4;
  double step_ms = 4.0;
  double factor = 5.0;
  std::int64_t rows = 32;  ///< rows in a worker's batch
  std::int64_t steps = 600;
  std::int64_t staleness = 16;
  int repetitions = 3;
  double accuracy = 0.85;
};

/// Parameters on a server, with workers whose steps take at least the given milliseconds.
class PacedServer final : public ParameterServer {
 public:
  PacedServer(std::vector<double> step_ms, const ConsistencyRule& rule)
      : ParameterServer(places_of_workers(rule.workers), {Place{}}, rule), step_ms_(std::move(step_ms)) {}

  Plan training_plan(const PlanRequest& request) const override {
    auto plan = ParameterServer::training_plan(request);
    for (auto& actor : plan.actors)
      if (actor.task.kind == "gather") actor.make_task = paced(actor.make_task, step_ms_.at(actor.replica));
    return plan;
  }

 private:
  static std::vector<Place> places_of_workers(int workers) {
    std::vector<Place> places;
    for (int i = 0; i < workers; ++i) places.push_back({0, {DeviceType::cpu, i}});
    return places;
  }

  static TaskFactory paced(const TaskFactory& make, double ms) {
    return [make, ms](const PlanActor& actor, SpawnContext& context) -> std::unique_ptr<Task> {
      const std::shared_ptr<Task> load = make(actor, context);
      return std::make_unique<FunctionTask>([load, ms](const Firing& firing) {
        load->fire(firing);
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
      });
    };
  }

  std::vector<double> step_ms_;
};

/// Compares the consistency rules with and without a slow worker.
class Stragglers {
 public:
  explicit Stragglers(const Flags& flags) : flags_(flags), runtime_({.cpu_devices = flags.workers}) {}

  void run() {
    const auto n = flags_.workers;
    const std::vector<std::pair<std::string, ConsistencyRule>> rules{
        {"asynchronous", ConsistencyRule::asynchronous(n)},
        {"bounded", ConsistencyRule::bounded(n, flags_.staleness)},
        {"backup", ConsistencyRule::with_backup(n, 1)},
        {"synchronous", ConsistencyRule::synchronous(n)}};
    const auto slow = flags_.step_ms * flags_.factor;
    std::vector<double> with_slow(static_cast<std::size_t>(n - 1), flags_.step_ms);
    const auto fast = with_slow;
    with_slow.push_back(slow);
    bench::Contenders contenders{
        {"fast", [&] { return samples_per_second(PacedServer(fast, ConsistencyRule::asynchronous(n - 1))); }},
        {"slow", [&] { return samples_per_second(PacedServer({slow}, ConsistencyRule::asynchronous(1))); }}};
    for (const auto& rule : rules)
      contenders.emplace_back(rule.first, [&] { return samples_per_second(PacedServer(with_slow, rule.second)); });
    auto figures = bench::alternate(contenders, flags_.repetitions);
    std::vector<double> apart;
    for (std::size_t i = 0; i < figures["fast"].size(); ++i) apart.push_back(figures["fast"][i] + figures["slow"][i]);
    std::printf("%d workers, %.1f ms a step, one %.1f ms: apart %.0f samples/s\n", n, flags_.step_ms, slow,
                bench::median(apart));
    for (const auto& [name, rule] : rules) {
      const auto [seconds, steps] = seconds_to_accuracy(PacedServer(with_slow, rule));
      std::printf("%-13s %6.0f samples/s, of apart %.3f; to an accuracy of %.2f: %5.2f s, %lld steps\n", name.c_str(),
                  bench::median(figures[name]), bench::median_ratio(figures[name], apart), flags_.accuracy, seconds,
                  static_cast<long long>(steps));
    }
  }

 private:
  /// Data whose batch is one batch for each worker.
  Dataset data(const Strategy& strategy) const {
    return fashion_mnist(Split::train).shuffle(60'000).batch(flags_.rows * strategy.num_replicas_in_sync());
  }

  /// The number of steps. Steps that all workers share have the rows of several workers' steps.
  std::int64_t steps(const Strategy& strategy) const {
    return strategy.shares_steps() ? flags_.steps / strategy.num_replicas_in_sync() : flags_.steps;
  }

  /// Counts the samples whose gradients are applied: where late gradients are dropped, their samples are not learned
  /// from.
  double samples_per_second(const Strategy& strategy) const {
    auto trainer = trainer_with(strategy);
    const auto result = trainer.fit(data(strategy), {.epochs = 100, .max_steps = steps(strategy)});
    return static_cast<double>(result.rows - result.staleness.dropped * flags_.rows) / result.seconds;
  }

  /// The seconds of training alone. The accuracy is measured twenty times an epoch.
  std::pair<double, std::int64_t> seconds_to_accuracy(const Strategy& strategy) const {
    auto trainer = trainer_with(strategy);
    const auto test = fashion_mnist(Split::test).batch(1000);
    const auto batches = data(strategy);
    bool reached = false;
    const auto result = trainer.fit(
        batches, {.epochs = 20,
                  .pause_every = std::max<std::int64_t>(1, 3'000 / strategy.step_rows(batches.batch_rows())),
                  .on_pause = [&](const Metrics&) { reached = trainer.evaluate(test)["accuracy"] >= flags_.accuracy; },
                  .stop_requested = [&] { return reached; }});
    return {reached ? result.seconds : -1.0, result.steps};
  }

  Trainer trainer_with(const Strategy& strategy) const {
    return {runtime_, strategy, examples::mlp(), Adam{.lr = 0.001}, SoftmaxCrossEntropy{}, {.seed = 5}};
  }

  const Flags flags_;
  Runtime runtime_;
};

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("A slow worker among fast ones.", "stragglers");
  app.add_option("--workers", flags.workers, "one of which is slow")->check(CLI::Range(2, 64));
  app.add_option("--step-ms", flags.step_ms, "pause of a fast worker's step")->check(CLI::Range(0.0, 1e4));
  app.add_option("--factor", flags.factor, "by which the slow one's is longer")->check(CLI::Range(1.0, 1e3));
  app.add_option("--steps", flags.steps, "of single workers, for the throughput")->check(CLI::Range(10, 1 << 20));
  app.add_option("--staleness", flags.staleness, "of the bounded rule")->check(CLI::Range(0, 1 << 20));
  app.add_option("--repetitions", flags.repetitions)->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  try {
    Stragglers(flags).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stragglers: %s\n", error.what());
    return 1;
  }
}
