#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace troupe {

class EpochProgress;
struct Failure;

/// A sample that cannot be used; see FitOptions::on_invalid_sample.
struct SkippedSample {
  std::int64_t sample;  ///< the row in the data set, or InvalidSample::kUnknown
  std::string text;     ///< the error text, which names the row
};

/// Returns the sample that has caused the failure of a run. `without_rows` has the steps of the run that no replica has
/// reported. If replicas do not share steps and only one of them has failed, the first of these steps is that of the
/// failure. The row is unknown if several have failed, or if each process has samples of its own.
SkippedSample skipped_sample(const Failure& failure, const EpochProgress& progress,
                             std::span<const std::int64_t> without_rows);

}  // namespace troupe
