#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

#include "troupe/examples/device_flags.hpp"
#include "troupe/examples/loss_file.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/data/text.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/predictor.hpp"

namespace troupe::examples {

inline constexpr std::int64_t kTimes = 128;

struct TextFlags {
  std::string text;
  std::int64_t batch = 16;
  std::int64_t steps = 2000;
  DeviceFlags devices;
  std::uint64_t seed = 1;
  std::string grain = "fused";
  std::int64_t characters = 200;
  std::string losses;
};

/// The result of a function. 1 if it throws; the error is printed.
template <class Function>
int guarded(const char* program, Function function) {
  try {
    return function();
  } catch (const CLI::ParseError& error) {
    return CLI::App(program).exit(error, std::cerr, std::cerr) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << std::endl;
    return 1;
  }
}

/// Parses the flags. Returns nothing if only help was requested.
inline std::optional<TextFlags> parse_text_flags(const char* program, const char* description, std::int64_t batch,
                                                 int argc, char** argv) {
  TextFlags flags;
  flags.batch = batch;
  CLI::App app(description, program);
  app.add_option("--text", flags.text, "a text file, gzipped or plain")->required();
  app.add_option("--batch", flags.batch, "rows of a batch")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", flags.steps, "steps to train")->check(CLI::NonNegativeNumber)->capture_default_str();
  flags.devices.declare(app);
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--grain", flags.grain)->check(CLI::IsMember({"fused", "chains", "per-op"}))->capture_default_str();
  app.add_option("--characters", flags.characters, "characters to write at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--losses", flags.losses, "write the loss of every step to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  }
  return flags;
}

/// Generates text: every next character is drawn by its probability.
inline std::string write_text(Predictor& predictor, const Characters& characters, const std::vector<Field>& fields,
                              std::int64_t count, std::uint64_t seed) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(kTimes), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    Predictor::Arrays rows{
        {"characters", Tensor::from<std::int32_t>({1, kTimes}, std::span<const std::int32_t>(numbers).last(kTimes))}};
    if (fields.size() == 3) rows.emplace_back("begins", Tensor({1}, DType::float32));
    const auto logits = predictor.predict(rows);
    const auto classes = static_cast<std::size_t>(characters.size());
    const auto last = logits.data<float>().last(classes);
    const float largest = *std::ranges::max_element(last);
    double left = 0.0;
    for (const auto logit : last) left += std::exp(static_cast<double>(logit - largest));
    left *= static_cast<double>(uniform(seed, 0, static_cast<std::uint64_t>(i)));
    std::int32_t next = 0;
    for (; next + 1 < static_cast<std::int32_t>(classes); ++next) {
      left -= std::exp(static_cast<double>(last[static_cast<std::size_t>(next)] - largest));
      if (left < 0.0) break;
    }
    numbers.push_back(next);
  }
  return characters.decode(std::span<const std::int32_t>(numbers).subspan(static_cast<std::size_t>(kTimes)));
}

/// Trains for the steps of the flags, prints the mean loss of every hundred, and generates text.
inline void train_on_text(const TextFlags& flags, const Model& model, const Optimizer& optimizer, const Dataset& data,
                          const Characters& characters) {
  const auto runtime = flags.devices.make_runtime();
  const Mirrored strategy(flags.devices.places());
  Trainer trainer(runtime, strategy, model, optimizer, SoftmaxCrossEntropy{.labels = "next"},
                  {.seed = flags.seed, .grain = parse_grain(flags.grain)});
  std::printf("%lld characters, %lld windows\n", static_cast<long long>(characters.size()),
              static_cast<long long>(data.rows()));
  LossFile losses(flags.losses);
  double sum = 0.0;
  std::int64_t count = 0, steps = 0;
  const auto report = [&] {
    std::printf("step %lld  loss %.4f\n", static_cast<long long>(steps), sum / static_cast<double>(count));
    std::fflush(stdout);
    sum = 0.0;
    count = 0;
  };
  const auto result = trainer.fit(
      data,
      {.epochs = flags.steps / data.batches() + 1, .max_steps = flags.steps, .on_step = [&](const StepMetrics& step) {
         losses.add(step.loss);
         sum += step.loss;
         ++steps;
         if (++count == 100) report();
       }});
  if (count > 0) report();
  Predictor predictor(trainer, data.fields());
  std::printf("%s\n%.0f characters/s, parameters %s\n",
              write_text(predictor, characters, data.fields(), flags.characters, flags.seed).c_str(),
              static_cast<double>(result.rows * kTimes) / std::max(result.seconds, 1e-9),
              trainer.parameters().hash().c_str());
}

}  // namespace troupe::examples
