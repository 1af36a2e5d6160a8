#include "troupe/strategies/training/fit_metrics.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

void FitMetrics::begin_epoch() {
  epoch_ = {};
  skipped_of_epoch_ = 0;
  epoch_seconds_ = 0.0;
}

void FitMetrics::begin_run() {
  run_begin_ = Clock::now();
  not_finite_.reset();
  left_out_.clear();
}

void FitMetrics::add(const StepMetrics& step) {
  epoch_.add(step);
  since_pause_.add(step);
  ++steps_since_pause_;
  ++result_.steps;
  result_.rows += step.rows;
  if (!not_finite_ && !step.finite()) not_finite_ = step;
}

void FitMetrics::end_run() {
  const auto seconds = std::chrono::duration<double>(Clock::now() - run_begin_).count();
  epoch_seconds_ += seconds;
  result_.seconds += seconds;
}

const EpochMetrics& FitMetrics::end_epoch(std::int64_t epoch, bool complete) {
  return result_.epochs.emplace_back(EpochMetrics{epoch, epoch_.result(), epoch_seconds_, complete});
}

Metrics FitMetrics::pause() {
  steps_since_pause_ = 0;
  return std::exchange(since_pause_, {}).result();
}

void FitMetrics::add_skipped(SkippedSample sample) {
  const auto batches = std::max<std::int64_t>(1, std::ssize(left_out_));
  skipped_of_epoch_ += batches;
  result_.skipped_batches += batches;
  if (result_.skipped_samples.size() < FitResult::kMostListed) result_.skipped_samples.push_back(std::move(sample));
}

}  // namespace troupe
