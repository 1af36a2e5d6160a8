// Regression on a table of comma-separated values: several columns of numbers predict one number.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "troupe/examples/device_flags.hpp"
#include "troupe/examples/loss_file.hpp"
#include "troupe/ops/data/csv_file.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

struct Flags {
  std::string csv, target;
  std::vector<std::string> inputs;
  std::int64_t batch = 32, epochs = 50;
  std::optional<std::int64_t> steps;
  examples::DeviceFlags devices;
  std::uint64_t seed = 1;
  std::string grain = "fused";
  std::string losses;
};

int train(const Flags& flags) {
  const auto all = read_csv(flags.csv, {{"inputs", flags.inputs}, {"target", {flags.target}}}).shuffle(1 << 20);
  const auto held_back = all.rows() / 5;
  const auto train = all.skip(held_back).batch(flags.batch), test = all.take(held_back).batch(flags.batch);
  const auto runtime = flags.devices.make_runtime();
  const Mirrored strategy(flags.devices.places());
  // Batch norm scales columns of any magnitude to one.
  const auto model = [](Value x) {
    const Sequential layers{BatchNorm{}, Dense{32, relu}, Dense{32, relu}, Dense{1}};
    return reshape(layers(x.shape().rank() == 2 ? x : reshape(x, {kBatch, 1})), {kBatch});
  };
  Trainer trainer(runtime, strategy, Model(model, "inputs"), Adam{.lr = 0.01}, Huber{.delta = 1.0},
                  {.seed = flags.seed, .grain = parse_grain(flags.grain), .metrics = {{mean_absolute_error()}}});
  examples::LossFile losses(flags.losses);
  const auto on_step = [&](const StepMetrics& step) { losses.add(step.loss); };
  trainer.fit(train, {.epochs = flags.epochs, .max_steps = flags.steps, .on_step = on_step});
  const auto result = trainer.evaluate(test);
  std::printf("test loss %.4f  mean absolute error %.4f  (%lld rows, parameters %s)\n", result.loss,
              result["mean_absolute_error"], static_cast<long long>(result.rows), trainer.parameters().hash().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Trains a regression on a table", "csv_regression");
  app.add_option("--csv", flags.csv, "the table, gzipped or plain, with a header")->required();
  app.add_option("--inputs", flags.inputs, "columns to predict from")->required()->delimiter(',');
  app.add_option("--target", flags.target, "column to predict")->required();
  app.add_option("--batch", flags.batch)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--epochs", flags.epochs)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--steps", flags.steps, "end after so many steps")->check(CLI::NonNegativeNumber);
  flags.devices.declare(app);
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--grain", flags.grain)->check(CLI::IsMember({"fused", "chains", "per-op"}))->capture_default_str();
  app.add_option("--losses", flags.losses, "write the loss of every step to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return train(flags);
  } catch (const std::exception& error) {
    std::cerr << "csv_regression: " << error.what() << std::endl;
    return 1;
  }
}
