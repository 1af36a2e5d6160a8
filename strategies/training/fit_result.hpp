#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/skipped_sample.hpp"

// The results of training: of an epoch and of a fit.

namespace troupe {

/// The metrics of one epoch, over the steps that one fit makes in it.
struct EpochMetrics {
  std::int64_t epoch = 0;  ///< number of the epoch over all fits, from 0
  Metrics training;
  double seconds = 0.0;  ///< time of training, without on_epoch and on_pause
  bool complete = true;  ///< false if the fit ended before the last batch of the epoch
};

/// The result of a fit.
struct FitResult {
  std::int64_t steps = 0;  ///< a batch that was left out is no step
  std::int64_t rows = 0;
  double seconds = 0.0;  ///< time of training, without on_epoch and on_pause
  bool stopped = false;  ///< stop_requested or stop() ended the fit
  std::vector<EpochMetrics> epochs;
  /// Staleness of the gradients that the shards of the strategy have applied, over all steps of the fit. Empty if the
  /// strategy has no shards (actors/shard), such as Mirrored or a strategy with servers of its own.
  Staleness staleness;
  /// With Optimizer::accumulating(): the last steps whose gradients no update has used yet. The next fit uses them, but
  /// none after a change from or to LocalSgd, and with fewer workers of LocalSgd none of those that are left out.
  std::int64_t accumulated_steps = 0;
  /// The batches that were left out; see FitOptions::on_invalid_sample.
  std::int64_t skipped_batches = 0;
  /// The samples for which the first kMostListed of them were left out.
  static constexpr std::size_t kMostListed = 1'000;
  std::vector<SkippedSample> skipped_samples;
};

}  // namespace troupe
