#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/shard/shard_log.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/strategies/step/training_graph.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/metrics_exchange.hpp"
#include "troupe/strategies/training/step_order.hpp"

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
  /// With shared steps every replica reports each step, else one of them does.
  MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields, bool shared_steps = true);

  /// A run begins with that step.
  void begin(std::int64_t first_step);
  /// The run has ended in this process: nothing more is reported here. Of processes that are `absent` nothing comes.
  void end_run(std::vector<int> absent = {});

  /// Outputs of the graph that a sink reads, before the batch info.
  const std::vector<std::string>& sink_inputs() const { return sink_inputs_; }
  /// For the shards of a plan.
  const std::shared_ptr<ShardLog>& shard_log() const { return shard_log_; }
  /// As it has counted; in a plan without shards, all gradients of so many steps were applied at once.
  Staleness staleness(std::int64_t steps) const;
  /// The task of the sinks of all replicas.
  TaskFactory sink(NonFiniteLoss on_non_finite_loss) const;
  /// The steps that are whole since the last call, oldest first; valid until the next one. Waits for
  /// those of other processes, for `limit` at most.
  std::span<const StepMetrics> take(std::chrono::milliseconds limit = {});

  /// Only the replicas for which `here` is true report in this process; the others' reports come by the exchange.
  void exchange_with(std::unique_ptr<MetricsExchange> exchange, std::vector<bool> here);
  /// After end_run(): whether take() has given every step of the run, those of other processes too.
  bool complete() const { return complete_; }

 private:
  // Shared with the sinks: one that is stuck may outlive the log.
  struct Parts {
    explicit Parts(int replicas) : per_replica(replicas), here(replicas, true) {}
    std::mutex mutex;
    std::vector<StepQueue> per_replica;
    std::vector<bool> here;
    bool shared_steps = true;
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
  std::size_t take_from_all();
  std::size_t take_in_order(bool last);
  std::span<const StepMetrics> take_from_first(std::chrono::milliseconds limit);
  Staleness counted() const;
  void send_to_all(std::span<const StepMetrics> steps);
  void keep(std::vector<ReplicaReport> reports);
  std::vector<ReplicaReport> pop_own();

  std::shared_ptr<Parts> parts_;
  std::unique_ptr<MetricsExchange> exchange_;
  bool ended_ = false, complete_ = false;
  std::vector<int> absent_;
  StepOrder order_;  // where steps are not shared
  std::shared_ptr<ShardLog> shard_log_ = std::make_shared<ShardLog>();
  std::vector<StepMetrics> taken_;
};

}  // namespace troupe
