#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/run/task.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/training_graph.hpp"

namespace troupe {

/// Reports in order. Their memory is used again and again, so that a step allocates nothing.
class StepQueue {
 public:
  std::size_t size() const { return count_; }
  /// Report i, the oldest first.
  const StepMetrics& operator[](std::size_t i) const { return steps_[(first_ + i) % steps_.size()]; }
  /// Adds a report, and gives an old one back in its place.
  void push(StepMetrics& report);
  /// Forgets the oldest.
  void pop();

 private:
  std::vector<StepMetrics> steps_;
  std::size_t first_ = 0, count_ = 0;
};

/// Collects what the sinks of all replicas report and puts it together step by step, in replica order. Thread-safe.
class MetricsLog {
 public:
  MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields);

  /// Outputs of the graph that a sink reads, before the batch info.
  const std::vector<std::string>& sink_inputs() const { return sink_inputs_; }
  /// The task of the sinks of all replicas.
  TaskFactory sink(NonFiniteLoss on_non_finite_loss) const;
  /// The steps that all replicas have reported since the last call, oldest first; valid until the next one.
  std::span<const StepMetrics> take();

 private:
  // Shared with the sinks: one that is stuck may outlive the log.
  struct Parts {
    explicit Parts(int replicas) : per_replica(replicas) {}
    std::mutex mutex;
    std::vector<StepQueue> per_replica;
    /// A loss was not finite and ends the run.
    bool ended = false;
  };
  /// A metric, and which inputs of a sink hold its sum and its count; no count: the rows.
  struct Column {
    std::string name;
    std::size_t sum;
    std::size_t count;
  };
  static void read(const std::vector<Column>& columns, const Firing& firing, StepMetrics& part);

  std::vector<std::string> sink_inputs_;
  std::vector<Column> columns_;
  std::shared_ptr<Parts> parts_;
  std::vector<StepMetrics> taken_;
};

}  // namespace troupe
