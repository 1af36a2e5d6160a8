// Trains a large embedding whose rows are on a server in one process, while workers in another process look up the rows
// of their batches. Prints the network traffic of a step beside the size of the table, and the peak memory of both
// processes. The task: a number for each row is learned from sums of several rows' numbers.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <iostream>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/nn/sequence.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;

namespace {

struct Setting {
  int rank = 0;
  int port = 0;
  std::int64_t rows = 10'000'000, units = 16, lookups = 8, batch = 256, steps = 2000;
  int workers = 2;
};

/// Draws small row numbers far more often than large ones.
std::int32_t drawn_row(std::int64_t rows, std::uint64_t place) {
  const auto share = static_cast<double>(uniform(1, 2, place));
  return static_cast<std::int32_t>(
      std::min<double>(std::pow(static_cast<double>(rows), share), static_cast<double>(rows)) - 1.0);
}

float value_of(std::int32_t row) {
  return 2.0F * uniform(3, 4, static_cast<std::uint64_t>(row)) - 1.0F;
}

Dataset samples(const Setting& setting) {
  const auto rows_of = [setting](std::int64_t sample, std::size_t i) {
    return drawn_row(setting.rows, static_cast<std::uint64_t>(sample * setting.lookups) + i);
  };
  const auto lookups = static_cast<std::size_t>(setting.lookups);
  return Dataset::of_rows(setting.steps * setting.batch)
      .with_function<std::int32_t>("rows", {setting.lookups},
                                   [=](std::int64_t sample, std::span<std::int32_t> to) {
                                     for (std::size_t i = 0; i < to.size(); ++i) to[i] = rows_of(sample, i);
                                   })
      .with_function<float>("sum", {1},
                            [=](std::int64_t sample, std::span<float> to) {
                              to[0] = 0.0F;
                              for (std::size_t i = 0; i < lookups; ++i) to[0] += value_of(rows_of(sample, i));
                            })
      .batch(setting.batch * setting.workers);
}

Model model(const Setting& setting) {
  return [=](const Inputs& in) -> Outputs {
    const auto vectors = [&] {
      const GraphBuilder::Scope scope(in.builder(), "embedding");
      return Embedding{setting.rows, setting.units, Initializer::normal(0.1), true}(in["rows"]);
    }();
    return Dense{1}(reduce_sum(vectors, std::vector<std::int64_t>{1}));
  };
}

/// The peak memory of this process in megabytes, from /proc.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kilobytes = 0.0;
  while (status >> word)
    if (word == "VmHWM:") status >> kilobytes;
  return kilobytes / 1e3;
}

/// The bytes that the loopback device has carried.
double loopback_bytes() {
  std::ifstream devices("/proc/net/dev");
  std::string line;
  while (std::getline(devices, line))
    if (const auto at = line.find("lo:"); at != std::string::npos) return std::stod(line.substr(at + 3));
  return 0.0;
}

void train(const Setting& setting) {
  ClusterOptions options;
  options.job = resolve_job({setting.rank, 2, "127.0.0.1:" + std::to_string(setting.port)});
  options.same_host = false;
  const auto cluster = join_cluster(options);
  const Runtime runtime({.workers = 1, .cpu_devices = setting.workers});
  std::vector<Place> workers;
  for (int i = 0; i < setting.workers; ++i) workers.push_back({1, {DeviceType::cpu, i}});
  const ParameterServer strategy(workers, {Place{}}, ConsistencyRule::asynchronous(setting.workers));
  Trainer trainer(runtime, strategy, model(setting), Adagrad{.lr = 0.1}, MeanSquaredError{.target = "sum"},
                  {.cluster = cluster});
  std::vector<double> losses;
  const auto before = loopback_bytes();
  const auto result = trainer.fit(
      samples(setting), {.epochs = 1, .on_step = [&](const StepMetrics& step) { losses.push_back(step.loss); }});
  const auto carried = loopback_bytes() - before;
  cluster->leave();
  if (setting.rank == 1) {
    std::printf("worker: at most %.0f MB of memory\n", peak_memory());
    return;
  }
  const auto mean = [&](std::size_t first, std::size_t count) {
    return std::accumulate(losses.begin() + static_cast<std::ptrdiff_t>(first),
                           losses.begin() + static_cast<std::ptrdiff_t>(first + count), 0.0) /
           static_cast<double>(count);
  };
  const auto table = 4.0 * static_cast<double>(setting.rows * setting.units);
  const auto looked_up = 2.0 * 4.0 * static_cast<double>(setting.batch * setting.lookups * setting.units);
  const auto tenth = losses.size() / 10;
  std::printf("table of %lld x %lld: %.0f MB, and as much for Adagrad; server: at most %.0f MB of memory\n",
              static_cast<long long>(setting.rows), static_cast<long long>(setting.units), table / 1e6, peak_memory());
  std::printf("a step looks up %.3f MB to and fro; %.3f MB went over the network\n", looked_up / 1e6,
              carried / static_cast<double>(result.steps) / 1e6);
  std::printf("%lld steps, %.0f samples/s, loss %.4f in the first tenth, %.4f in the last\n",
              static_cast<long long>(result.steps), static_cast<double>(result.rows) / result.seconds, mean(0, tenth),
              mean(losses.size() - tenth, tenth));
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  CLI::App app("Training of a large embedding by rows", "embedding_rows");
  app.add_option("--rows", setting.rows, "of the table")->check(CLI::Range(2, 1 << 30));
  app.add_option("--units", setting.units, "of a row")->check(CLI::Range(1, 1 << 16));
  app.add_option("--lookups", setting.lookups, "of a sample")->check(CLI::Range(1, 1 << 16));
  app.add_option("--batch", setting.batch, "samples of a step")->check(CLI::Range(1, 1 << 20));
  app.add_option("--steps", setting.steps)->check(CLI::Range(10, 1 << 30));
  app.add_option("--workers", setting.workers)->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  setting.port = 20'000 + getpid() % 10'000;
  const auto child = fork();
  setting.rank = child == 0 ? 1 : 0;
  try {
    train(setting);
  } catch (const std::exception& error) {
    std::cerr << "embedding_rows: " << error.what() << std::endl;
    return 1;
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
