#include "troupe/examples/fashion_mnist/flags.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

#include "troupe/actors/run/thread_pinning.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"

namespace troupe::examples {

namespace {

/// CLI11's own check for positive numbers lets NaN pass.
std::string finite_and_positive(const std::string& text) {
  double value = 0.0;
  const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0.0;
  return good ? "" : "must be a positive number, not " + text;
}

}  // namespace

int Flags::replica_count() const {
  if (strategy == "one_device") return 1;
  return replicas > 0 ? replicas : usable_cores();
}

Optimizer Flags::make_optimizer(std::int64_t steps) const {
  const double usual = optimizer == "adam" ? 0.002 : (optimizer == "momentum" ? 0.05 : 0.1);
  const auto rate = learning_rate > 0.0 ? learning_rate : usual;
  const auto lr = schedule == "cosine" && steps > 0 ? Schedule::cosine(rate, steps) : Schedule::constant(rate);
  if (optimizer == "adam") return Adam{.lr = lr};
  if (optimizer == "momentum") return Sgd{.lr = lr, .momentum = momentum};
  return Sgd{.lr = lr};
}

std::unique_ptr<Strategy> Flags::make_strategy(const std::vector<Device>& devices) const {
  if (strategy == "one_device") return std::make_unique<OneDevice>(devices.at(0));
  MirroredOptions options;
  if (bucket_bytes > 0) options.first_bucket_bytes = options.bucket_bytes = bucket_bytes;
  return std::make_unique<Mirrored>(devices, options);
}

ParsedFlags parse_flags(int argc, char** argv) {
  ParsedFlags parsed;
  auto& flags = parsed.flags;
  flags.data = kFashionMnistDirectory;
  std::string grain = "fused";
  CLI::App app("Trains a model on Fashion-MNIST with every core as a replica.", "fashion_mnist");
  const CLI::Range positive(std::int64_t{1}, std::int64_t{1} << 40);
  app.add_option("--model", flags.model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--strategy", flags.strategy, "one_device or mirrored")
      ->check(CLI::IsMember({"one_device", "mirrored"}));
  app.add_option("--replicas", flags.replicas, "replicas of mirrored (default: every core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--grain", grain, "per-op or fused")->check(CLI::IsMember({"per-op", "fused"}));
  app.add_option("--epochs", flags.epochs, "times through the training data")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--batch-size", flags.batch_size, "rows of a batch of all replicas together")->check(positive);
  app.add_option("--bucket-bytes", flags.bucket_bytes, "size of a bucket of gradients")->check(positive);
  app.add_option("--prefetch", flags.prefetch, "batches to load ahead on another thread")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1024}));
  app.add_option("--workers", flags.workers, "threads of the actor system")->check(CLI::Range(1, 1024));
  app.add_option("--optimizer", flags.optimizer, "sgd, momentum or adam")
      ->check(CLI::IsMember({"sgd", "momentum", "adam"}));
  app.add_option("--lr", flags.learning_rate, "learning rate")->check(finite_and_positive);
  app.add_option("--schedule", flags.schedule, "of the learning rate: constant, or cosine (down to 0 at the end)")
      ->check(CLI::IsMember({"constant", "cosine"}));
  app.add_option("--momentum", flags.momentum, "of the optimizer momentum")->check(CLI::Range(0.0, 0.9999));
  app.add_option("--seed", flags.seed, "for start values and the order of the data");
  app.add_option("--data", flags.data, "directory with the four files of the data set");
  app.add_option("--report", flags.report, "write what came out as JSON");
  app.add_option("--loss-curve", flags.loss_curve, "write the loss of every step, one a line");
  app.add_option("--dump-plan", flags.dump_plan, "write the plan as text (as DOT if the file ends in .dot)");
  app.add_option("--trace", flags.trace, "record every firing, for chrome://tracing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    parsed.exit_code = app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << "fashion_mnist: " << error.what() << std::endl;
    parsed.exit_code = 2;
  }
  if (parsed.exit_code < 0 && flags.strategy == "one_device" && flags.replicas > 1) {
    std::cerr << "fashion_mnist: --replicas: one_device has one replica, not " << flags.replicas << std::endl;
    parsed.exit_code = 2;
  }
  flags.grain = grain == "fused" ? Grain::fused : Grain::per_op;
  return parsed;
}

}  // namespace troupe::examples
