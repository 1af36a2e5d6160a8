#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "troupe/transport/failure.hpp"

namespace troupe {

class EpochProgress;
struct EpochRows;

/// A sample that cannot be used; see FitOptions::on_invalid_sample.
struct SkippedSample {
  std::int64_t sample;  ///< the row in the data set (Dataset::row_of()), or InvalidSample::kUnknown
  std::string text;     ///< the error text, which names the row
};

/// A step of a run that no replica has reported.
struct MissingStep {
  std::int64_t step;
  int worker;  ///< see StepMetrics::missing_worker
};

/// Returns the sample that has caused the failure of a run. `missing` has the missing steps of the run, in order. If
/// replicas do not share steps, the first of these steps that belongs to the replica of the failure is the one that has
/// failed. The row is unknown if there is no such step, or if each process has samples of its own.
SkippedSample skipped_sample(const Failure& failure, const EpochProgress& progress,
                             std::span<const MissingStep> missing);

/// Throws InvalidSample with the row of the data set if a sample that cannot be used has caused the failure of an
/// evaluation or a prediction; else does nothing. The steps of the run are the batches of the epoch. `failure` may be
/// null.
void expect_valid_samples(const FailurePtr& failure, const EpochRows& epoch);

}  // namespace troupe
