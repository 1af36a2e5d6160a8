// How long whole training steps take, of several strategies in turn.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "troupe/bench/gpu/commands.hpp"
#include "troupe/bench/gpu/training.hpp"
#include "troupe/bench/repetitions.hpp"

namespace troupe::bench {

namespace {

struct StepFlags {
  TrainingFlags training;
  std::vector<std::string> strategies{"one_device"};
  double seconds = 0.3;
  int repetitions = 3;
  std::string json;
};

constexpr int kIntervals = 3;
constexpr std::int64_t kTrialSteps = 30, kFewestSteps = 20, kMostSteps = 4'000;

/// Steps that take about `seconds`.
std::int64_t steps_for(const StepFlags& flags) {
  TimedTraining trial(flags.training, flags.strategies.front(), kTrialSteps);
  const auto step = median(trial.step_seconds(kTrialSteps, kIntervals));
  return std::clamp(static_cast<std::int64_t>(flags.seconds / step), kFewestSteps, kMostSteps);
}

/// Microseconds of a step.
double measure(TimedTraining& training, std::int64_t steps) {
  return 1e6 * median(training.step_seconds(steps, kIntervals));
}

void run(const StepFlags& flags) {
  const auto steps = steps_for(flags);
  Contenders contenders;
  for (const auto& strategy : flags.strategies) {
    const auto training = std::make_shared<TimedTraining>(flags.training, strategy, steps);
    contenders.emplace_back(strategy, [training, steps] { return measure(*training, steps); });
  }
  const auto figures = alternate(contenders, flags.repetitions);
  auto rows = nlohmann::json::array();
  for (const auto& [strategy, measured] : contenders) {
    const auto& training = flags.training;
    const auto us = median(figures.at(strategy));
    const auto ratio = median_ratio(figures.at(strategy), figures.at(contenders.front().first));
    std::printf("%-4s batch %5lld  %-8s %-7s images of %-6s %-10s %9.1f us a step  %.4f of the first\n",
                training.model.c_str(), static_cast<long long>(training.batch), training.precision.c_str(),
                training.grain.c_str(), training.images.c_str(), strategy.c_str(), us, ratio);
    rows.push_back({{"strategy", strategy}, {"microseconds", us}, {"ratio", ratio}});
  }
  if (flags.json.empty()) return;
  std::ofstream out(flags.json);
  if (!(out << rows.dump(2) << std::endl)) throw Error("step", "'" + flags.json + "' cannot be written");
}

}  // namespace

void add_step_command(CLI::App& app) {
  const auto flags = std::make_shared<StepFlags>();
  auto* command = app.add_subcommand("step", "Time of whole training steps");
  flags->training.declare(*command);
  command->add_option("--strategies", flags->strategies, "by turns")
      ->delimiter(',')
      ->check(CLI::IsMember({"one_device", "mirrored"}));
  command->add_option("--seconds", flags->seconds, "of one measurement")->check(CLI::PositiveNumber);
  command->add_option("--repetitions", flags->repetitions)->check(CLI::Range(1, 1000));
  command->add_option("--json", flags->json, "write the rows to this file");
  command->callback([flags] { run(*flags); });
}

}  // namespace troupe::bench
