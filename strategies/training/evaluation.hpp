#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

class MetricsLog;

/// The result of an evaluation: the metrics of the steps that a log collects in one run, summed up.
class Evaluation {
 public:
  explicit Evaluation(MetricsLog& log) : log_(log) {}

  /// Adds the steps that the log has completed. If no report of another process has arrived, waits up to `limit` for
  /// one.
  void add_steps(std::chrono::milliseconds limit = {});
  /// Must be called once the run is over in this process. Waits until the processes except those in `absent` have
  /// reported all steps, and returns the metrics. Throws TimedOut if they do not within `limit`, and Error if the
  /// number of steps is not that of `batches`; std::nullopt: any number.
  Metrics end(std::vector<int> absent, std::chrono::milliseconds limit, std::optional<std::int64_t> batches);

 private:
  MetricsLog& log_;
  MetricsSum sum_;
};

}  // namespace troupe
