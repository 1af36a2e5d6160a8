// Measures whole training steps of several strategies and variants, alternately. With --profile, prints the time of
// each kind of op.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "troupe/bench/gpu/commands.hpp"
#include "troupe/bench/gpu/device_memory.hpp"
#include "troupe/bench/gpu/figures.hpp"
#include "troupe/bench/gpu/op_profile.hpp"
#include "troupe/bench/gpu/training.hpp"
#include "troupe/bench/gpu/variant.hpp"
#include "troupe/bench/repetitions.hpp"

namespace troupe::bench {

namespace {

struct StepFlags {
  TrainingFlags training;
  std::vector<std::string> strategies{"one_device"}, variants{""}, ops;
  double seconds = 0.3;
  std::int64_t steps = 0;
  int repetitions = 3;
  bool profile = false;
  std::string json, figures;
};

/// A strategy with a variant.
struct Candidate {
  std::string strategy;
  Variant variant;

  std::string name() const { return variant.text().empty() ? strategy : strategy + " " + variant.text(); }
};

constexpr int kIntervals = 3;
constexpr std::int64_t kMaxSteps = 4'000;

std::vector<Candidate> candidates_of(const StepFlags& flags) {
  std::vector<Candidate> candidates;
  for (const auto& strategy : flags.strategies)
    for (const auto& variant : flags.variants) candidates.push_back({strategy, Variant(variant)});
  return candidates;
}

/// The number of steps: that of --steps, or as many as take about `seconds`.
std::int64_t steps_for(const StepFlags& flags, const Candidate& first) {
  if (flags.steps > 0) return flags.steps;
  const std::int64_t trial_steps = flags.training.is_large() ? 3 : 30, fewest = flags.training.is_large() ? 4 : 20;
  const Variant::Scope scope(first.variant);
  TimedTraining trial(flags.training, first.strategy, trial_steps);
  const auto step = median(trial.step_seconds(trial_steps, kIntervals));
  return std::clamp(static_cast<std::int64_t>(flags.seconds / step), fewest, kMaxSteps);
}

/// The training of each candidate, which is kept from measurement to measurement.
Contenders trainings_of(const StepFlags& flags, const std::vector<Candidate>& candidates) {
  const auto steps = steps_for(flags, candidates.front());
  Contenders contenders;
  for (const auto& candidate : candidates) {
    const Variant::Scope scope(candidate.variant);
    const auto training = std::make_shared<TimedTraining>(flags.training, candidate.strategy, steps);
    contenders.emplace_back(candidate.name(), [training, steps, variant = candidate.variant] {
      const Variant::Scope chosen(variant);
      return 1e6 * median(training->step_seconds(steps, kIntervals));
    });
  }
  return contenders;
}

/// The name of a candidate's figures: the given name for the first candidate, with a number appended for the others.
std::string figures_of(const StepFlags& flags, std::size_t candidate) {
  if (flags.figures.empty() || candidate == 0) return flags.figures;
  return flags.figures + "_" + std::to_string(candidate + 1);
}

void time_steps(const StepFlags& flags) {
  const auto contenders = trainings_of(flags, candidates_of(flags));
  const auto figures = alternate(contenders, flags.repetitions);
  const auto& training = flags.training;
  const auto [unit, units] = training.row_count();
  auto rows = nlohmann::json::array();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto& name = contenders[i].first;
    const auto us = median(figures.at(name));
    const auto ratio = median_ratio(figures.at(name), figures.at(contenders.front().first));
    const auto per_second = 1e6 * static_cast<double>(training.batch * units) / us;
    std::printf("%-4s batch %5lld  %-8s %-7s images of %-6s %-10s %9.1f us a step  %.4f of the first\n",
                training.model.c_str(), static_cast<long long>(training.batch), training.precision.c_str(),
                training.grain.c_str(), training.images.c_str(), name.c_str(), us, ratio);
    print_figure(figures_of(flags, i), "ms", 1e-3 * us, "ms");
    print_figure(figures_of(flags, i), unit + "_per_s", per_second, (unit + "/s").c_str());
    if (i > 0) print_figure(figures_of(flags, i), "ratio", ratio, "of_first");
    rows.push_back({{"strategy", name}, {"microseconds", us}, {"ratio", ratio}, {unit + "_per_s", per_second}});
  }
  if (parse_device(training.device).type == DeviceType::cuda)
    print_figure(flags.figures, "used_gb", 1e-9 * static_cast<double>(device_bytes()), "GB");
  if (flags.json.empty()) return;
  std::ofstream out(flags.json);
  if (!(out << rows.dump(2) << std::endl)) throw Error("step", "'" + flags.json + "' cannot be written");
}

void print_figures(const std::string& name, const OpProfile& profile, const std::vector<std::string>& ops) {
  const auto sum = profile.sum_of(ops);
  print_figure(name, "ms", 1e3 * sum.seconds, "ms");
  print_figure(name, "gb", 1e-9 * sum.bytes, "GB");
  print_figure(name, "gb_per_s", sum.gigabytes_per_second(), "GB/s");
  if (sum.flop > 0) print_figure(name, "tflop_per_s", sum.teraflop_per_second(), "TFLOP/s");
  print_figure(name, "memory_gb", 1e-9 * profile.memory_bytes, "GB");
}

void profile_steps(const StepFlags& flags) {
  const auto& training = flags.training;
  const auto measured = make_case(training, 1);
  double first = 0.0;
  for (std::size_t i = 0; i < flags.variants.size(); ++i) {
    const Variant variant(flags.variants[i]);
    const Variant::Scope scope(variant);
    const auto profile = profile_ops(measured, parse_device(training.device), flags.repetitions);
    std::printf("%s batch %lld  %s %s: %.3f GB of inner values, results and scratch memory\n", training.model.c_str(),
                static_cast<long long>(training.batch), training.precision.c_str(), variant.text().c_str(),
                1e-9 * profile.memory_bytes);
    print(profile);
    print_figures(figures_of(flags, i), profile, flags.ops);
    const auto seconds = profile.sum_of(flags.ops).seconds;
    if (i == 0) first = seconds;
    if (i > 0) print_figure(figures_of(flags, i), "ratio", seconds / first, "of_first");
  }
}

void expect_ops(const std::vector<std::string>& ops) {
  for (const auto& op : ops) (void)find_op(op);
}

void run(const StepFlags& flags) {
  expect_ops(flags.ops);
  if (flags.profile)
    profile_steps(flags);
  else
    time_steps(flags);
}

}  // namespace

void add_step_command(CLI::App& app) {
  const auto flags = std::make_shared<StepFlags>();
  auto* command = app.add_subcommand("step", "Time of whole training steps");
  flags->training.declare(*command);
  command->add_option("--strategies", flags->strategies, "by turns")
      ->delimiter(',')
      ->check(CLI::IsMember({"one_device", "mirrored"}));
  command->add_option("--variants", flags->variants, "by turns: variables of the environment, NAME=VALUE")
      ->delimiter(',');
  command->add_option("--seconds", flags->seconds, "of one measurement")->check(CLI::PositiveNumber);
  command->add_option("--steps", flags->steps, "of one measurement, in place of --seconds")->check(CLI::Range(1, 4000));
  command->add_option("--repetitions", flags->repetitions)->check(CLI::Range(1, 1000));
  auto* profile = command->add_flag("--profile", flags->profile, "the time of every kind of op, on one stream");
  command->add_option("--ops", flags->ops, "the ops that the figures of a profile are about")
      ->delimiter(',')
      ->needs(profile);
  command->add_option("--figures", flags->figures, "print figures under this name, for bench/gpu/queue");
  command->add_option("--json", flags->json, "write the rows to this file")->excludes(profile);
  command->callback([flags] { run(*flags); });
}

}  // namespace troupe::bench
