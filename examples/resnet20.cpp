// ResNet-20 on Fashion-MNIST, with a cosine schedule of the learning rate.

#include "troupe/examples/resnet.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "troupe/examples/device_flags.hpp"
#include "troupe/examples/loss_file.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

struct Flags {
  std::string data = kFashionMnistDirectory;
  std::int64_t batch = 128, epochs = 10, rows = 60'000;
  std::optional<std::int64_t> steps;
  examples::DeviceFlags devices;
  std::uint64_t seed = 1;
  double rate = 0.1;
  std::string grain = "fused";
  std::string losses;
};

int train(const Flags& flags) {
  const auto train = fashion_mnist(Split::train, flags.data).take(flags.rows).shuffle(60'000).batch(flags.batch);
  const auto test = fashion_mnist(Split::test, flags.data).batch(500);
  const auto steps = flags.steps.value_or(flags.epochs * train.batches());
  const auto runtime = flags.devices.make_runtime();
  const Mirrored strategy(flags.devices.places());
  Trainer trainer(runtime, strategy, examples::resnet20(),
                  Sgd{.lr = Schedule::cosine(flags.rate, std::max<std::int64_t>(1, steps)).with_warm_up(100),
                      .momentum = 0.9,
                      .nesterov = true,
                      .weight_decay = 5e-4},
                  SoftmaxCrossEntropy{}, {.seed = flags.seed, .grain = parse_grain(flags.grain)});
  const auto on_epoch = [](const EpochMetrics& epoch) {
    std::printf("epoch %lld  loss %.4f  accuracy %.4f  %.0f samples/s\n", static_cast<long long>(epoch.epoch + 1),
                epoch.training.loss, epoch.training["accuracy"],
                static_cast<double>(epoch.training.rows) / epoch.seconds);
    std::fflush(stdout);
  };
  examples::LossFile losses(flags.losses);
  const auto on_step = [&](const StepMetrics& step) { losses.add(step.loss); };
  trainer.fit(train,
              {.epochs = steps / train.batches() + 1, .max_steps = steps, .on_step = on_step, .on_epoch = on_epoch});
  const auto result = trainer.evaluate(test);
  std::printf("test loss %.4f  test accuracy %.4f  (parameters %s)\n", result.loss, result["accuracy"],
              trainer.parameters().hash().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Trains ResNet-20 on Fashion-MNIST", "resnet20");
  app.add_option("--data", flags.data)->capture_default_str();
  app.add_option("--batch", flags.batch)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--epochs", flags.epochs)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--rows", flags.rows, "train on so many images")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", flags.steps, "end after so many steps")->check(CLI::NonNegativeNumber);
  app.add_option("--rate", flags.rate, "the largest learning rate")->check(CLI::PositiveNumber)->capture_default_str();
  flags.devices.declare(app);
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--grain", flags.grain)->check(CLI::IsMember({"fused", "chains", "per-op"}))->capture_default_str();
  app.add_option("--losses", flags.losses, "write the loss of every step to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return train(flags);
  } catch (const std::exception& error) {
    std::cerr << "resnet20: " << error.what() << std::endl;
    return 1;
  }
}
