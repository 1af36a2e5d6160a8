// Measures a training step with actors (fused, per-op) beside the same kernels in a bare loop and beside the products
// alone. All variants of one (model, batch, replicas) alternate in one process.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "troupe/bench/actor_step.hpp"
#include "troupe/bench/bare_step.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/examples/models.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr double kLearningRate = 0.05;

struct Options {
  std::vector<std::string> models{"mlp", "cnn"};
  std::vector<std::int64_t> batches{32, 128, 1024};
  std::vector<int> replicas{1, 2};
  std::vector<std::string> variants{"bare", "products", "fused", "chains", "per-op"};
  double seconds = 0.5;
  int repetitions = 9;
  std::string data = kFashionMnistDirectory;
  std::string json;
};

/// The number of steps that take about `seconds`.
std::int64_t steps_for(double seconds, std::int64_t batch, double samples_per_second) {
  return std::max<std::int64_t>(2,
                                static_cast<std::int64_t>(seconds * samples_per_second / static_cast<double>(batch)));
}

/// A model, batch size and number of replicas, with the variants of its step that are compared.
class Case {
 public:
  Case(const Options& options, const Dataset& data, const std::string& model, std::int64_t batch, int replicas)
      : options_(options),
        data_(data.shuffle(60'000).batch(batch)),
        spec_{examples::model_named(model), SoftmaxCrossEntropy{}, Sgd{.lr = kLearningRate}},
        model_(model),
        replicas_(replicas),
        bare_(spec_, data_, replicas, kLearningRate) {
    steps_ = steps_for(options.seconds, batch, bare_.run(steps_for(0.1, batch, model == "mlp" ? 2e5 : 1e4)));
  }

  nlohmann::json run() {
    Contenders contenders;
    for (const auto& variant : options_.variants) contenders.emplace_back(variant, measure_of(variant));
    const auto figures = alternate(contenders, options_.repetitions);
    auto rows = nlohmann::json::array();
    for (const auto& [variant, measure] : contenders) {
      const auto speed = median(figures.at(variant));
      const auto ratio = figures.contains("bare") ? median_ratio(figures.at(variant), figures.at("bare")) : 0.0;
      std::printf("%-4s batch %5lld  replicas %d  %-9s %10.0f samples/s  %.3f of bare\n", model_.c_str(),
                  static_cast<long long>(data_.batch_rows()), replicas_, variant.c_str(), speed, ratio);
      std::fflush(stdout);
      rows.push_back({{"model", model_},
                      {"batch", data_.batch_rows()},
                      {"replicas", replicas_},
                      {"variant", variant},
                      {"samples_per_second", speed},
                      {"ratio_to_bare", ratio}});
    }
    return rows;
  }

 private:
  std::function<double()> measure_of(const std::string& variant) {
    if (variant == "bare") return [this] { return bare_.run(steps_); };
    if (variant == "products") return [this] { return bare_.run_products(steps_); };
    const auto grain = parse_grain(variant);
    // Made before the first measurement and kept to the last.
    auto actors = std::make_shared<ActorStep>(spec_, data_, replicas_, grain, replicas_);
    return [this, actors] { return actors->run(steps_); };
  }

  const Options& options_;
  Dataset data_;
  TrainingSpec spec_;
  std::string model_;
  int replicas_;
  BareStep bare_;
  std::int64_t steps_ = 1;
};

int run(const Options& options) {
  const auto data = fashion_mnist(Split::train, options.data);
  auto rows = nlohmann::json::array();
  for (const auto& model : options.models)
    for (auto batch : options.batches)
      for (auto replicas : options.replicas)
        for (auto& row : Case(options, data, model, batch, replicas).run()) rows.push_back(row);
  if (options.json.empty()) return 0;
  std::ofstream out(options.json);
  out << rows.dump(2) << "\n";
  if (!out.flush()) throw Error("step_time", "'" + options.json + "' cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Speed of a training step", "step_time");
  app.add_option("--model", options.models)->delimiter(',')->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--batch", options.batches)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--replicas", options.replicas)->delimiter(',')->check(CLI::Range(1, 64));
  app.add_option("--variants", options.variants)
      ->delimiter(',')
      ->check(CLI::IsMember({"bare", "products", "fused", "chains", "per-op"}));
  app.add_option("--seconds", options.seconds, "of one measurement")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--data", options.data);
  app.add_option("--json", options.json, "write the rows to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "step_time: " << error.what() << std::endl;
    return 1;
  }
}
