#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/actors/run/task.hpp"

namespace troupe {

/// One step (a batch) as all replicas together saw it.
struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0.0;  ///< mean over the rows of the batch
  std::int64_t correct = 0;
  std::int64_t rows = 0;
};

/// Means over many steps.
struct Metrics {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  double loss = 0.0;
  double accuracy = 0.0;
};

/// Adds up steps.
class MetricsSum {
 public:
  void add(const StepMetrics& step);
  Metrics result() const;

 private:
  Metrics sum_;
  std::int64_t correct_ = 0;
};

/// Collects what the sinks of all replicas report and puts it together step by step, in replica order. Thread-safe.
class MetricsLog {
 public:
  explicit MetricsLog(int replicas) : parts_(std::make_shared<Parts>(replicas)) {}

  /// The sink of a replica: reads loss, correct and batch info.
  TaskFactory make_sink(int replica);
  /// The steps that all replicas have reported since the last call, oldest first.
  std::vector<StepMetrics> take();

 private:
  // Shared with the sinks: one that is stuck may outlive the log.
  struct Parts {
    explicit Parts(int replicas) : per_replica(replicas) {}
    std::mutex mutex;
    std::vector<std::deque<StepMetrics>> per_replica;
  };
  std::shared_ptr<Parts> parts_;
};

}  // namespace troupe
