#include "troupe/strategies/training/skipped_sample.hpp"

#include "troupe/strategies/training/epoch_progress.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

namespace {

std::int64_t sample_of(const Failure& failure, const EpochProgress& progress,
                       std::span<const std::int64_t> without_rows) {
  if (failure.row == InvalidSample::kUnknown)
    return progress.has_own_samples() ? InvalidSample::kUnknown : failure.sample;
  if (progress.shares_steps()) return progress.sample_at(failure.step, failure.replica, failure.row);
  // A replica counts its own steps, so the step of the run is the first one that is missing: a replica makes no further
  // step of the run after a failed one. If several replicas have failed, that step can be another replica's.
  if (without_rows.empty() || failure.others_failed) return InvalidSample::kUnknown;
  return progress.sample_at(without_rows.front(), failure.replica, failure.row);
}

}  // namespace

SkippedSample skipped_sample(const Failure& failure, const EpochProgress& progress,
                             std::span<const std::int64_t> without_rows) {
  const auto sample = sample_of(failure, progress, without_rows);
  const bool text_names_row = sample == InvalidSample::kUnknown || sample == failure.sample;
  return {sample, to_string(failure) + (text_names_row ? "" : ": row " + std::to_string(sample) + " of the data set")};
}

}  // namespace troupe
