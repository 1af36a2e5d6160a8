// Measures training steps of larger models: a transformer and an LSTM on characters, ResNet-20 on images. With
// --profile, prints the time of each kernel in a step of one replica.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "troupe/bench/actor_step.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/examples/device_flags.hpp"
#include "troupe/examples/resnet.hpp"
#include "troupe/examples/text_models.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/replica.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t kCharacters = 65, kTimes = 128;

struct Options {
  std::string model = "gpt";
  std::int64_t batch = 16;
  std::vector<int> replicas{1, 2};
  double seconds = 1.0;
  int repetitions = 3;
  bool profile = false;
  std::string json;
};

Tensor random_integers(const Shape& shape, std::uint64_t bound) {
  Tensor tensor(shape, DType::int32);
  auto elements = tensor.mutable_data<std::int32_t>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<std::int32_t>(uniform_below(bound, 1, bound, i));
  return tensor;
}

/// A model with its training data.
struct Case {
  TrainingSpec spec;
  Dataset data;
};

Case make_case(const Options& options) {
  const auto rows = 8 * options.batch;
  if (options.model == "resnet20") {
    Tensor images({rows, 28, 28, 1}, DType::float32);
    auto pixels = images.mutable_data<float>();
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = uniform(1, 2, i);
    return {{examples::resnet20(), SoftmaxCrossEntropy{}, Sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4}},
            Dataset::from_arrays({{"images", images}, {"labels", random_integers({rows}, 10)}}).batch(options.batch)};
  }
  const Shape shape{rows, kTimes};
  const auto data = Dataset::from_arrays(
      {{"characters", random_integers(shape, kCharacters)}, {"next", random_integers(shape, kCharacters - 1)}});
  const auto model = options.model == "gpt" ? examples::gpt(kCharacters) : examples::lstm_model(kCharacters);
  return {{model, SoftmaxCrossEntropy{}, AdamW{.lr = 1e-3}}, data.batch(options.batch)};
}

/// Runs one replica's training step on this thread, and prints the time of each kernel.
void print_profile(const Case& of) {
  const auto graph =
      optimized_for(Device{}, without_all_reduce(training_graph(of.spec, of.data.fields(), unreduced(of.spec))));
  Program program(graph, of.data.batch_rows());
  const auto rows = of.data.batch_rows();
  std::uint64_t stream = 0;
  for (const auto& node : graph.nodes()) {
    if (!node.is(kInput) && !node.is(kParameter)) continue;
    const auto& info = graph.info(node.outputs[0]);
    Tensor tensor(info.shape.with_rows(rows), info.dtype);
    if (node.is(kParameter)) node.initializer.fill(tensor, 1, stream++);
    if (node.name == GraphBuilder::kBatchInfo) std::ranges::fill(tensor.mutable_data<std::int64_t>(), rows);
    if (node.name == GraphBuilder::kBatchInfo) tensor.mutable_data<std::int64_t>()[2] = 0;
    for (std::size_t field = 0; field < of.data.fields().size(); ++field) {
      if (of.data.fields()[field].name != node.name) continue;
      std::vector<std::int32_t> samples(static_cast<std::size_t>(rows));
      std::iota(samples.begin(), samples.end(), 0);
      of.data.gather(samples, field, tensor);
    }
    program.bind(node.name, tensor);
  }
  program.run();
  std::map<std::string, double> by_op;
  double total = 0.0;
  constexpr int kRuns = 5;
  for (int run = 0; run < kRuns; ++run)
    for (std::size_t i = 0; i < program.steps().size(); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      program.run_step(i);
      const auto ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      by_op[std::string(program.steps()[i].op->name)] += ms / kRuns;
      total += ms / kRuns;
    }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [op, ms] : by_op) sorted.emplace_back(ms, op);
  std::ranges::sort(sorted, std::greater<>());
  std::printf("%.2f ms a step on one thread\n", total);
  for (const auto& [ms, op] : sorted) std::printf("%8.3f ms  %5.1f %%  %s\n", ms, 100.0 * ms / total, op.c_str());
}

int run(const Options& options) {
  const auto of = make_case(options);
  if (options.profile) {
    print_profile(of);
    return 0;
  }
  auto rows = nlohmann::json::array();
  for (const auto replicas : options.replicas) {
    ActorStep actors(of.spec, of.data, replicas, Grain::fused, replicas);
    const auto first = std::max(1.0, actors.run(2));
    const auto steps = std::max<std::int64_t>(
        2, static_cast<std::int64_t>(options.seconds * first / static_cast<double>(options.batch)));
    std::vector<double> figures;
    for (int i = 0; i < options.repetitions; ++i) figures.push_back(actors.run(steps));
    std::printf("%-8s batch %5lld  replicas %d  %10.1f samples/s\n", options.model.c_str(),
                static_cast<long long>(options.batch), replicas, median(figures));
    std::fflush(stdout);
    rows.push_back({{"model", options.model},
                    {"batch", options.batch},
                    {"replicas", replicas},
                    {"samples_per_second", median(figures)}});
  }
  if (options.json.empty()) return 0;
  std::ofstream out(options.json);
  out << rows.dump(2) << "\n";
  if (!out.flush()) throw Error("model_speed", "'" + options.json + "' cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Speed of training steps of larger models", "model_speed");
  app.add_option("--model", options.model)->check(CLI::IsMember({"gpt", "lstm", "resnet20"}));
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--replicas", options.replicas)->delimiter(',')->check(CLI::Range(1, 64));
  app.add_option("--seconds", options.seconds, "of one measurement")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  app.add_flag("--profile", options.profile, "print where the time goes");
  examples::declare_precision(app);
  app.add_option("--json", options.json, "write the rows to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "model_speed: " << error.what() << std::endl;
    return 1;
  }
}
