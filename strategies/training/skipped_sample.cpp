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

}  // namespace

SkippedSample skipped_sample(const Failure& failure, const EpochProgress& progress,
                             std::span<const MissingStep> missing) {
  const auto sample = sample_of(failure, progress, missing);
  const bool text_names_row = sample == InvalidSample::kUnknown || sample == failure.sample;
  return {sample, to_string(failure) + (text_names_row ? "" : ": row " + std::to_string(sample) + " of the data set")};
}

}  // namespace troupe
