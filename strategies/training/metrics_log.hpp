#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/strategies/step/training_graph.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/metrics_exchange.hpp"
#include "troupe/strategies/training/step_order.hpp"

namespace troupe {

/// Collects the reports of the sinks of all replicas, and combines them step by step, in replica order. Thread-safe.
class MetricsLog {
 public:
  /// With shared steps every replica reports each step, otherwise one replica does.
  MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields, bool shared_steps = true);

  /// A run begins with this step.
  void begin(std::int64_t first_step);
  /// The run has ended in this process, whose replicas report nothing more. `absent` processes report nothing either.
  void end_run(std::vector<int> absent = {});

  /// Outputs of the graph that a sink reads, before the batch info.
  const std::vector<std::string>& sink_inputs() const { return sink_inputs_; }
  /// For the shards of a plan.
  const std::shared_ptr<ShardLog>& shard_log() const { return shard_log_; }
  /// The staleness that the shards have counted. In a plan without shards, all gradients of `steps` steps have
  /// staleness 0.
  Staleness staleness(std::int64_t steps) const;
  /// The task of the sinks of all replicas.
  TaskFactory sink(NonFiniteLoss on_non_finite_loss) const;
  /// Returns the steps completed since the last call, oldest first. They are valid until the next call. Waits up to
  /// `limit` for other processes.
  std::span<const StepMetrics> take(std::chrono::milliseconds limit = {});

  /// Replicas for which `here` is true report in this process. The reports of the others come by the exchange.
  void exchange_with(std::unique_ptr<MetricsExchange> exchange, std::vector<bool> here);
  /// After end_run(): whether take() has returned every step of the run, of all processes.
  bool complete() const { return complete_; }

 private:
  // Shared with the sinks, because a stuck sink may outlive the log.
  struct Parts {
    explicit Parts(int replicas) : per_replica(replicas), here(replicas, true) {}
    std::mutex mutex;
    std::vector<StepQueue> per_replica;
    std::vector<bool> here;
    bool shared_steps = true;
    bool ended = false;  // by a loss that is not finite
  };
  /// A metric, and the inputs of a sink with its sum and its count. A count of kRows: the number of rows.
  struct Column {
    std::string name;
    std::size_t sum;
    std::size_t count;
  };
  static void read(const std::vector<Column>& columns, const Firing& firing, StepMetrics& part);

  std::vector<std::string> sink_inputs_;
  std::vector<Column> columns_;
  std::size_t take_from_all();
  std::size_t take_in_order(bool last);
  std::span<const StepMetrics> take_from_rank_zero(std::chrono::milliseconds limit);
  Staleness counted() const;
  void keep(std::vector<ReplicaReport> reports);
  std::vector<ReplicaReport> pop_local();

  std::shared_ptr<Parts> parts_;
  std::unique_ptr<MetricsExchange> exchange_;
  bool ended_ = false, complete_ = false;
  std::vector<int> absent_;
  StepOrder order_;  // order of steps that are not shared
  std::shared_ptr<ShardLog> shard_log_ = std::make_shared<ShardLog>();
  std::vector<StepMetrics> taken_;
};

}  // namespace troupe
