#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/strategies/training/fit_result.hpp"

namespace troupe {

/// The metrics of a fit in progress: its steps summed up over the run, since the last pause, over the epoch and over
/// the fit. A run is a part of an epoch.
class FitMetrics {
 public:
  void begin_epoch();
  void begin_run();
  void add(const StepMetrics& step);
  /// Notes a step of the run that was left out, because a sample has failed it or has ended its worker before it. It
  /// counts in FitResult::skipped_batches alone; see add_skipped().
  void add_left_out(const StepMetrics& step) { left_out_.push_back({step.step, step.missing_worker}); }
  /// Adds the time since begin_run() to the epoch and to the fit.
  void end_run();
  /// Appends the epoch number `epoch` to the result.
  const EpochMetrics& end_epoch(std::int64_t epoch, bool complete);
  /// Returns the means of the steps since the last pause.
  Metrics pause();
  /// Adds the sample, and the batches of the steps that were left out: one if there are no such steps.
  void add_skipped(SkippedSample sample);

  std::int64_t steps_since_pause() const { return steps_since_pause_; }
  /// The batches of the epoch that the fit has passed: its steps, and batches that it has left out.
  std::int64_t batches_of_epoch() const { return epoch_.result().steps + skipped_of_epoch_; }
  /// The first step of the run that is not finite.
  const std::optional<StepMetrics>& not_finite() const { return not_finite_; }
  /// The steps of the run that were left out.
  const std::vector<MissingStep>& left_out() const { return left_out_; }
  FitResult& result() { return result_; }
  const FitResult& result() const { return result_; }

 private:
  using Clock = std::chrono::steady_clock;

  FitResult result_;
  MetricsSum epoch_;
  std::int64_t skipped_of_epoch_ = 0;  // batches of the epoch that were left out
  double epoch_seconds_ = 0.0;
  MetricsSum since_pause_;
  std::int64_t steps_since_pause_ = 0;
  Clock::time_point run_begin_;
  std::optional<StepMetrics> not_finite_;
  std::vector<MissingStep> left_out_;
};

}  // namespace troupe
