#include "troupe/strategies/training/skipped_sample.hpp"

#include <algorithm>

#include "troupe/strategies/training/epoch_progress.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

namespace {

std::int64_t sample_of(const Failure& failure, const EpochProgress& progress, std::span<const MissingStep> missing) {
  if (failure.row == InvalidSample::kUnknown)
    return progress.has_own_samples() ? InvalidSample::kUnknown : failure.sample;
  if (progress.shares_steps()) return progress.sample_at(failure.step, failure.replica, failure.row);
  // The failure has a step that the replica counts itself. A replica makes no further step of the run after a failed
  // one, so the step of the run is the first that the replica has not reported.
  const auto failed = std::ranges::find(missing, failure.replica, &MissingStep::worker);
  if (failed == missing.end()) return InvalidSample::kUnknown;
  return progress.sample_at(failed->step, failure.replica, failure.row);
}

SkippedSample skipped_sample(const Failure& failure, std::int64_t sample) {
  const bool text_names_row = sample == InvalidSample::kUnknown || sample == failure.sample;
  return {sample, to_string(failure) + (text_names_row ? "" : ": row " + std::to_string(sample) + " of the data set")};
}

}  // namespace

SkippedSample skipped_sample(const Failure& failure, const EpochProgress& progress,
                             std::span<const MissingStep> missing) {
  return skipped_sample(failure, sample_of(failure, progress, missing));
}

void expect_valid_samples(const FailurePtr& failure, const EpochRows& epoch) {
  if (!failure || failure->kind != FailureKind::invalid_sample) return;
  auto sample = epoch.has_own_samples ? InvalidSample::kUnknown : failure->sample;
  if (failure->row != InvalidSample::kUnknown)
    sample = epoch.sample_at({.batch = failure->step, .batch_rows = epoch.batch_rows}, failure->replica, failure->row);
  const auto invalid = skipped_sample(*failure, sample);
  throw InvalidSample("run", invalid.text, invalid.sample);
}

}  // namespace troupe
