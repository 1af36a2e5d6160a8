#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

/// Shows the progress of an epoch. A terminal gets one line, redrawn at most ten times a second. Other outputs get
/// plain lines, at most one every ten seconds, and one at the end of the epoch.
class ProgressBar {
 public:
  ProgressBar(std::ostream& out, bool terminal, std::int64_t epochs, std::int64_t steps_per_epoch);

  void step(const StepMetrics& step);
  void finish_epoch(const Metrics& metrics, double seconds);

 private:
  void draw();

  std::ostream& out_;
  bool terminal_;
  std::int64_t epochs_, steps_per_epoch_;
  std::int64_t epoch_ = 1;
  MetricsSum sum_;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace troupe
