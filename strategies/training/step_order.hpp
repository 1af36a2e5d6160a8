#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"

// Containers of the steps that a MetricsLog collects.

namespace troupe {

/// A queue of steps. It reuses its memory, so that a step allocates nothing.
class StepQueue {
 public:
  std::size_t size() const { return count_; }
  /// Step i, the oldest first.
  const StepMetrics& operator[](std::size_t i) const { return steps_[(first_ + i) % steps_.size()]; }
  /// Appends a step, and exchanges its memory for that of an old one.
  void push(StepMetrics& step);
  /// Removes the oldest step.
  void pop();

  /// Capacity at first: room for the steps between two calls of MetricsLog::take().
  static constexpr std::size_t kSteps = 256;

 private:
  std::vector<StepMetrics> steps_;
  std::size_t first_ = 0, count_ = 0;
};

/// Orders the steps of workers that do not wait for each other. A step that was computed again, because a worker was
/// lost, counts once.
class StepOrder {
 public:
  /// A run begins with this step.
  void begin(std::int64_t first_step);
  void add(StepMetrics step);
  /// The run has ended before `end_step`, and no more steps come. A step whose report was lost is replaced by one
  /// without rows.
  void end(std::int64_t end_step);
  /// Removes and returns the next steps, up to the first that is missing.
  std::vector<StepMetrics> take();

 private:
  std::int64_t next_ = 0;
  std::map<std::int64_t, StepMetrics> early_;
};

}  // namespace troupe
