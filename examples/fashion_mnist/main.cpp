#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "troupe/actors/plan/plan_dot.hpp"
#include "troupe/actors/plan/plan_memory.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/examples/fashion_mnist/flags.hpp"
#include "troupe/examples/fashion_mnist/processes.hpp"
#include "troupe/examples/models.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/text_stream.hpp"
#include "troupe/strategies/training/interrupt.hpp"
#include "troupe/strategies/training/progress_bar.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace {

using namespace troupe;
using namespace troupe::examples;

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error("output", "'" + path.string() + "' cannot be written");
}

void write_plan(const Flags& flags, const Plan& plan) {
  write_file(flags.dump_plan, flags.dump_plan.extension() == ".dot" ? to_dot(plan) : to_text(plan));
}

/// The bytes of a training's tensors: as planned, and at most in use.
struct TensorMemory {
  std::size_t planned = 0;
  std::size_t before = 0;
  std::size_t peak = 0;
};

/// Pairs of a staleness and the number of gradients that had it.
nlohmann::json staleness_of(const Staleness& staleness) {
  auto pairs = nlohmann::json::array();
  for (const auto& [updates, gradients] : staleness.applied) pairs.push_back({updates, gradients});
  return pairs;
}

/// Prints a line for each staleness, for strategies that may have any.
void print(const Staleness& staleness) {
  if (staleness.dropped == 0 && staleness.applied.size() <= 1) return;
  std::int64_t all = staleness.dropped;
  for (const auto& [updates, gradients] : staleness.applied) all += gradients;
  const auto line = [&](const std::string& name, std::int64_t gradients) {
    const auto share = static_cast<double>(gradients) / static_cast<double>(all);
    std::printf("%10s %9lld  %s\n", name.c_str(), static_cast<long long>(gradients),
                std::string(static_cast<std::size_t>(std::lround(50.0 * share)), '#').c_str());
  };
  std::cout << " staleness gradients" << std::endl;
  for (const auto& [updates, gradients] : staleness.applied) line(std::to_string(updates), gradients);
  if (staleness.dropped > 0) line("dropped", staleness.dropped);
}

/// Empty in an expendable process, which holds no parameters.
std::string hash_of(const Trainer& trainer, const Cluster* cluster) {
  const bool holds = cluster == nullptr || !trainer.strategy().expendable().contains(cluster->rank());
  return holds ? trainer.parameters().hash() : "";
}

nlohmann::json report_of(const Flags& flags, const FitResult& fit, const Metrics& test, const Trainer& trainer,
                         const TensorMemory& memory, const Cluster* cluster) {
  return {{"model", flags.model},
          {"rank", cluster != nullptr ? cluster->rank() : 0},
          {"world_size", cluster != nullptr ? cluster->size() : 1},
          {"strategy", flags.strategy},
          {"replicas", trainer.strategy().num_replicas_in_sync()},
          {"grain", flags.grain_name},
          {"batch_size", flags.batch_size},
          {"seed", flags.seed},
          {"epochs", fit.epochs.size()},
          {"steps", fit.steps},
          {"seconds", fit.seconds},
          {"samples_per_second", fit.seconds > 0.0 ? static_cast<double>(fit.rows) / fit.seconds : 0.0},
          {"train_loss", fit.epochs.empty() ? 0.0 : fit.epochs.back().training.loss},
          {"test_loss", test.loss},
          {"test_accuracy", test["accuracy"]},
          {"planned_tensor_bytes", memory.planned},
          {"peak_tensor_bytes", memory.peak - memory.before},
          {"staleness", staleness_of(fit.staleness)},
          {"dropped_gradients", fit.staleness.dropped},
          {"parameters_hash", hash_of(trainer, cluster)}};
}

/// Checks before a long training that the paths can be written. Leaves no files behind.
void check_writable(const Flags& flags) {
  for (const auto& path : {flags.report, flags.loss_curve, flags.trace, flags.dump_plan, flags.record}) {
    if (path.empty()) continue;
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const auto& place = std::filesystem::exists(path) ? path : folder;
    if (std::filesystem::is_directory(path) || access(place.c_str(), W_OK) != 0)
      throw Error("output", "'" + path.string() + "' cannot be written");
  }
}

std::int64_t steps_of_epoch(const Dataset& data, const Strategy& strategy) {
  return data.batch(strategy.step_rows(data.largest_batch())).batches();
}

int train(Flags flags) {
  check_writable(flags);
  const auto cluster = meet_processes(flags);
  const bool is_rank_0 = !cluster || cluster->rank() == 0;
  const auto train_data = training_data(flags, cluster.get());
  const auto all_data = in_shards(train_data, cluster.get());
  // The test images are read after the first step, which then comes earlier; a damaged file still ends the training
  // soon.
  std::optional<Dataset> test_data;
  const auto read_test_data = [&] {
    if (!test_data) test_data = evaluation_data(flags);
  };
  const RuntimeOptions runtime_options{.workers = flags.threads, .cpu_devices = flags.device_count()};
  const Runtime runtime(runtime_options);
  // The report has the memory of the training alone.
  if (!flags.report.empty()) read_test_data();
  TensorMemory memory{.before = cpu_allocator()->bytes_in_use()};
  const auto strategy = flags.make_strategy(cluster.get());
  TrainerOptions options{.seed = flags.seed, .grain = flags.grain, .cluster = cluster};
  for (int part = 1; part < flags.parts; ++part) options.other_parts.emplace_back(runtime_options);
  if (!flags.trace.empty()) options.trace = std::make_shared<Trace>();
  const auto epoch_steps = steps_of_epoch(all_data, *strategy);
  Trainer trainer(runtime, *strategy, model_named(flags.model),
                  flags.make_optimizer(flags.epochs * epoch_steps, strategy->num_replicas_in_sync()),
                  SoftmaxCrossEntropy{}, options);
  if (!flags.dump_plan.empty()) write_plan(flags, trainer.training_plan(all_data));

  if (!flags.report.empty()) memory.planned = memory_of(trainer.training_plan(all_data)).total();
  cpu_allocator()->reset_peak();

  TextStream curve;
  curve.precision(9);
  std::optional<InterruptGuard> interrupt(std::in_place);
  ProgressBar bar(std::cout, isatty(STDOUT_FILENO) != 0, flags.epochs, epoch_steps);
  const auto fit = trainer.fit(train_data, {
                                               .epochs = flags.epochs,
                                               .on_step =
                                                   [&](const StepMetrics& step) {
                                                     if (is_rank_0) bar.step(step);
                                                     read_test_data();
                                                     curve << step.loss << "\n";
                                                   },
                                               .on_epoch =
                                                   [&](const EpochMetrics& epoch) {
                                                     if (is_rank_0) bar.finish_epoch(epoch.training, epoch.seconds);
                                                   },
                                               .stop_requested = [&] { return interrupt->signal() != 0; },
                                               .record = flags.record.string(),
                                               .replay = flags.replay.string(),
                                           });
  const int signal = interrupt->signal();
  // A signal from now on ends the program.
  interrupt.reset();
  memory.peak = cpu_allocator()->peak_bytes();
  if (fit.stopped && is_rank_0)
    std::cout << "stopped by a signal after step " << fit.steps << "; the partly trained model:" << std::endl;
  read_test_data();
  const auto test = trainer.evaluate(*test_data);
  const auto report = report_of(flags, fit, test, trainer, memory, cluster.get());
  if (is_rank_0)
    std::cout << "test loss " << test.loss << "  test accuracy " << test["accuracy"] << "  (" << fit.steps << " steps, "
              << static_cast<std::int64_t>(report["samples_per_second"]) << " samples/s, parameters "
              << hash_of(trainer, cluster.get()) << ")" << std::endl;
  if (is_rank_0) print(fit.staleness);
  if (!flags.report.empty()) write_file(path_of_rank(flags.report, cluster.get()), report.dump(2) + "\n");
  if (!flags.loss_curve.empty()) write_file(path_of_rank(flags.loss_curve, cluster.get()), curve.str());
  if (options.trace) options.trace->write(path_of_rank(flags.trace, cluster.get()));
  if (cluster) cluster->leave();
  // A process that got no signal itself was ended by the signal of another.
  return fit.stopped && signal != 0 ? 128 + signal : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = parse_flags(argc, argv);
  if (parsed.exit_code >= 0) return parsed.exit_code;
  try {
    return train(parsed.flags);
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist: " << error.what() << std::endl;
    return 1;
  }
}
