#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/run/task.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/training_graph.hpp"

namespace troupe {

/// Collects what the sinks of all replicas report and puts it together step by step, in replica order. Thread-safe.
class MetricsLog {
 public:
  MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields);

  /// Outputs of the graph that a sink reads, before the batch info.
  const std::vector<std::string>& sink_inputs() const { return sink_inputs_; }
  /// The task of the sinks of all replicas.
  TaskFactory sink(NonFiniteLoss on_non_finite_loss) const;
  /// The steps that all replicas have reported since the last call, oldest first.
  std::vector<StepMetrics> take();

 private:
  // Shared with the sinks: one that is stuck may outlive the log.
  struct Parts {
    explicit Parts(int replicas) : per_replica(replicas) {}
    std::mutex mutex;
    std::vector<std::deque<StepMetrics>> per_replica;
    /// A loss was not finite and ends the run.
    bool ended = false;
  };
  /// A metric, and which inputs of a sink hold its sum and its count; no count: the rows.
  struct Column {
    std::string name;
    std::size_t sum;
    std::size_t count;
  };
  static StepMetrics read(const std::vector<Column>& columns, const Firing& firing);

  std::vector<std::string> sink_inputs_;
  std::vector<Column> columns_;
  std::shared_ptr<Parts> parts_;
};

}  // namespace troupe
