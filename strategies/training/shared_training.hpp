#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/training/job_status.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

class Cluster;
class Communicator;
class MetricsLog;
class Recording;
class SpawnedPlan;
class Strategy;
struct FitResult;
struct Plan;

/// The exchange of a training with the other processes of its job, if there are any, and between the stores of its
/// parts in this process. Expendable processes of the strategy take part in runs and hold no parameters; all others are
/// holders.
class SharedTraining {
 public:
  /// `cluster` may be null. `stores` belong to the parts in this process. Every wait for other processes has the limit.
  SharedTraining(std::shared_ptr<Cluster> cluster, const Strategy& strategy, Stores stores,
                 std::chrono::milliseconds limit);

  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  bool has_others() const;
  bool is_rank_zero() const;
  /// Whether this process is expendable: the others go on without it if it is lost.
  bool is_expendable() const;

  // All holders call the next four functions at the same time.

  /// The data in the layout that the processes share: of all samples, where each process has samples of its own. Throws
  /// Error on all processes that names the first difference, if they share the data differently, have other fields, or
  /// have different samples where these must be equal.
  Dataset share(const Dataset& data);
  /// Before a plan is spawned: sets the values of all processes to those of rank 0, and the values of all parts in this
  /// process to the newest.
  void agree_on_values();
  /// After a run: copies the values that single processes hold to all, and their recordings to rank 0.
  void end_run(const Plan& trained, Recording* record);
  /// Copies all rows to all processes. Each process has written some of them; its others are zero.
  void gather_rows(const Tensor& rows);

  /// On rank 0: sends the status message to the expendable processes.
  void announce(const JobStatus& status) const;

  using StopRequested = std::function<bool()>;
  /// In an expendable process: waits for the next status message of a kind, and discards messages of other kinds.
  /// Throws Error if rank 0 is lost, or a stop is requested.
  JobStatus receive(JobStatus::Kind kind, const StopRequested& stop_requested = {}) const;
  /// fit() in an expendable process: takes part in the runs that rank 0 starts. It may begin while they are under way.
  /// Returns when the fit of rank 0 is over, or `stop_requested` returns true; the other processes go on then. Throws
  /// Error with the root cause if a run fails, or if rank 0 is lost.
  FitResult take_part(SpawnedPlan& plan, MetricsLog& log, const StopRequested& stop_requested) const;

 private:
  Communicator& holders();

  std::shared_ptr<Cluster> cluster_;
  const Strategy& strategy_;
  Stores stores_;
  std::chrono::milliseconds limit_;
  std::vector<int> holder_ranks_;
  std::uint64_t number_ = 0;
  std::shared_ptr<Communicator> holders_;
  std::shared_ptr<const std::function<void(const FailurePtr&)>> on_lost_;
};

}  // namespace troupe
