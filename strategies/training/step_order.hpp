#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"

// Containers of the steps that a MetricsLog collects.

namespace troupe {

/// A queue of the metrics of steps. It reuses the memory of removed steps, so that push() allocates nothing once the
/// queue is large enough.
class StepQueue {
 public:
  std::size_t size() const { return count_; }
  /// Returns step i; step 0 is the oldest.
  const StepMetrics& operator[](std::size_t i) const { return steps_[(first_ + i) % steps_.size()]; }
  /// Appends the step. Leaves in `step` the memory of a removed step, with undefined values.
  void push(StepMetrics& step);
  /// Removes the oldest step.
  void pop();

  /// Initial capacity: enough for the steps between two calls of MetricsLog::take().
  static constexpr std::size_t kSteps = 256;

 private:
  std::vector<StepMetrics> steps_;
  std::size_t first_ = 0, count_ = 0;
};

/// Orders the steps of workers that do not wait for each other. A step that is reported twice, because its worker was
/// lost and another one computed it again, counts once.
class StepOrder {
 public:
  /// Begins a run whose first step is `first_step`.
  void begin(std::int64_t first_step);
  void add(StepMetrics step);
  /// Ends the run, which consisted of the steps before `end_step`. A step that is missing, because its report was lost
  /// with a worker, is replaced by a step without rows.
  void end(std::int64_t end_step);
  /// Removes and returns the next steps in order, up to the first that is missing.
  std::vector<StepMetrics> take();
  /// A text on the next step, if it is missing and a later one is there; else empty.
  std::string missing() const;

 private:
  std::int64_t next_ = 0;
  std::map<std::int64_t, StepMetrics> early_;
};

}  // namespace troupe
