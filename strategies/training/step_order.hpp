#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

/// Puts into order the steps of workers that do not wait for each other. What was computed again, because a worker was
/// lost, counts once.
class StepOrder {
 public:
  /// A run begins with that step.
  void begin(std::int64_t first_step);
  void add(StepMetrics step);
  /// Nothing more comes, and the run has had the steps before that one: in place of one whose report was lost stands
  /// one without rows.
  void end(std::int64_t end_step);
  /// The next steps, as far as none is missing in between.
  std::vector<StepMetrics> take();

 private:
  std::int64_t next_ = 0;
  std::map<std::int64_t, StepMetrics> early_;
};

}  // namespace troupe
