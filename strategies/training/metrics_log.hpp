#pragma once

#include <algorithm>
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
#include "troupe/strategies/training/sink_inputs.hpp"
#include "troupe/strategies/training/step_order.hpp"

namespace troupe {

/// The content of the reports of the sinks.
struct ReportForm {
  bool shared_steps = true;  ///< every replica reports a part of each step; false: one replica reports the whole step
  bool by_replica = false;   ///< see Strategy::decides_by_replica()
  bool magnitude = false;    ///< in a training: the reports have names::kMagnitude, too
  std::vector<int> reporting = {};  ///< the numbers of the replicas that report; empty: all
};

/// Collects the reports of the sinks of all replicas, and combines the reports of each step in replica order. A sink is
/// the actor that receives the loss and the metrics of its replica. Sinks may report on any thread at any time. All
/// functions of the log must be called on one thread at a time.
class MetricsLog {
 public:
  MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields, const ReportForm& form = {});

  /// Begins a run whose first step is `first_step`.
  void begin(std::int64_t first_step);
  /// Ends the run in this process, whose replicas report nothing more. The processes in `absent` report nothing more
  /// either. If the run has `failed` and replicas decide for themselves, a step is complete that some replicas have
  /// reported: the others have left their parts out.
  void end_run(std::vector<int> absent = {}, bool failed = false);

  /// The names of the graph's outputs that are the first inputs of a sink; see SinkInputs. The batch info is not in the
  /// list.
  const std::vector<std::string>& sink_inputs() const { return sink_inputs_.graph_outputs(); }
  /// The log in which the shards of the plan count the staleness of gradients.
  const std::shared_ptr<ShardLog>& shard_log() const { return shard_log_; }
  /// Returns the staleness that the shards of all processes have counted; empty in a plan without shards.
  Staleness staleness() const;
  /// The numbers of the replicas that report.
  const std::vector<int>& reporting() const { return parts_->reporting; }
  /// Returns a factory that makes the task of each sink. With NonFiniteLoss::stop, a task throws EndRun, which ends the
  /// run, if a loss or a gradient is not finite.
  TaskFactory sink(NonFiniteLoss on_non_finite_loss) const;
  /// Returns the steps completed since the last call, oldest first. They are valid until the next call. If no report of
  /// another process has arrived, waits up to `limit` for one.
  std::span<const StepMetrics> take(std::chrono::milliseconds limit = {});

  /// Lets the log exchange metrics with the other processes of the plan. `here` has an element for each replica: true
  /// if the sink of the replica is in this process. On rank 0 the reports of the other replicas arrive through the
  /// exchange; elsewhere the whole steps arrive from rank 0.
  void exchange_with(std::unique_ptr<MetricsExchange> exchange, std::vector<bool> here);
  /// Returns true if, after end_run(), take() has returned every step of the run, with the reports of all processes.
  bool complete() const { return complete_; }
  /// A text on the reports that are missing after end_run(): the processes that have not ended the run, or else a
  /// replica that has reported fewer steps than another one. Rank 0 knows the reports of all replicas, another rank
  /// those of its own. Empty if none is missing.
  std::string missing() const;

 private:
  // The state that the log shares with the sinks. The sinks hold it, too, because a stuck sink may outlive the log.
  struct Parts {
    Parts(int replicas, std::vector<int> numbers)
        : per_replica(replicas), here(replicas, true), reporting(std::move(numbers)) {}
    bool reports(int replica) const { return std::ranges::find(reporting, replica) != reporting.end(); }
    std::mutex mutex;
    std::vector<StepQueue> per_replica;
    std::vector<bool> here;
    std::vector<int> reporting;
    ReportForm form;
    bool ended = false;  // a step that is not finite has ended the run
  };
  void add_left_out();
  std::size_t take_from_all();
  std::size_t take_in_order(bool last);
  std::span<const StepMetrics> take_from_rank_zero(std::chrono::milliseconds limit);
  void keep(std::vector<ReplicaReport> reports);
  std::vector<ReplicaReport> pop_local();

  SinkInputs sink_inputs_;
  std::shared_ptr<Parts> parts_;
  std::unique_ptr<MetricsExchange> exchange_;
  bool ended_ = false, complete_ = false;
  bool has_left_out_ = false;  // the run has failed, and replicas may have left out their parts of its last steps
  std::vector<int> absent_;
  StepOrder order_;  // used only if replicas do not share steps
  std::shared_ptr<ShardLog> shard_log_ = std::make_shared<ShardLog>();
  std::vector<StepMetrics> taken_;
};

}  // namespace troupe
