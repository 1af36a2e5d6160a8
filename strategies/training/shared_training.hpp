#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
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

/// Keeps the data and the parameters of a Trainer equal in all processes of its job, or, in a job of one process, the
/// parameters in the stores of all parts of its plans. The strategy may name expendable processes, which compute in
/// runs but hold no parameters. All other processes are called holders.
class SharedTraining {
 public:
  /// `cluster` is null in a job of one process. `stores` has one store for each part in this process. `limit` is the
  /// longest time of each wait for other processes.
  SharedTraining(std::shared_ptr<Cluster> cluster, const Strategy& strategy, Stores stores,
                 std::chrono::milliseconds limit);

  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  bool has_others() const;
  bool is_rank_zero() const;
  /// Returns true if this process is expendable: the other processes continue without it if it is lost.
  bool is_expendable() const;
  /// Element i is the store of process i; null if that is another process. In a job of one process, element i is the
  /// store of part i.
  Stores stores_by_process() const;

  // The next functions up to sum(), except add_missing_parameters() and end_without_exchange(), are collective: all
  // holders must call them, in the same order.

  /// Returns the data set on which the job trains: `data` in a job of one process, and if every process has all
  /// samples. If each process has samples of its own (DataSharding::file or off), returns a data set of the samples of
  /// all processes, of which `data` is the shard of this process. Throws Error in all holders, with the first
  /// difference, if sharding, fields or batch size differ, or if samples differ that must be equal. Throws Error if
  /// processes are expendable and each process has samples of its own.
  Dataset share(const Dataset& data);
  /// Must be called before a plan is spawned. In a job of several processes, sets the parameters, optimizer state and
  /// positions of all holders to the newest of any of them; see adopt_newest_values(). In a job of one process, sets
  /// the stores of all parts to the newest values in any of them.
  void agree_on_values();
  /// Must be called after a plan is spawned. Adds the parameters of the plan that only other processes use to the store
  /// of this process, or, in a job of one process, to the stores of all parts. The actors of other processes train
  /// them; end_run() copies the trained values.
  void add_missing_parameters(const Plan& plan) const;
  /// Must be called after a run of the plan `trained` that has succeeded, or that has failed and whose actors have all
  /// finished. Copies values that only some processes (or parts) have updated, such as those of shards, to all holders
  /// (or parts). Throws Error in all holders if some have made other numbers of updates than others; the values are
  /// broken then. If `record` is not null, adds the recorded run of all holders to the recording of rank 0.
  void end_run(SpawnedPlan& trained, Recording* record);
  /// Must be called, instead of the end of end_run(), after a run whose actors have finished and whose values were not
  /// copied. Marks the values that this process and others have updated together, see held_together(), as broken. Not
  /// collective.
  void end_without_exchange(SpawnedPlan& trained) const;
  /// Returns the text of the first holder that passes one, with the number of its process; empty if none does.
  std::string first_error(const std::string& error);
  /// Completes the tensor `rows` in all holders. Each row must be written by at most one holder and be zero in all
  /// others.
  void gather_rows(const Tensor& rows);
  /// Returns the sum of the numbers of all holders.
  std::int64_t sum(std::int64_t number);

  /// Calls `wait`, which waits for other processes for at most the limit; see troupe::await_others().
  void await_others(const std::function<void()>& wait) const;

  /// On rank 0, sends the status message to the expendable processes. Does nothing in other processes, or if none is
  /// expendable.
  void announce(const JobStatus& status) const;

  using StopRequested = std::function<bool()>;
  /// In an expendable process, waits for the next status message of the kind, and discards messages of other kinds.
  /// Throws Error if rank 0 has ended, if a process that is not expendable is lost, or if `stop_requested` returns
  /// true.
  JobStatus receive(JobStatus::Kind kind, const StopRequested& stop_requested = {}) const;
  /// fit() in an expendable process: takes part in the runs that rank 0 starts, even if the current run began before
  /// the call. Returns when the fit of rank 0 is over, or when `stop_requested` returns true, in which case the other
  /// processes continue. Throws Error with the root cause if a run fails, and Error if rank 0 has ended or a process
  /// that is not expendable is lost.
  FitResult take_part(SpawnedPlan& plan, MetricsLog& log, const StopRequested& stop_requested) const;

 private:
  Communicator& holders();
  std::vector<std::int64_t> gathered(const std::vector<std::int64_t>& numbers);

  std::shared_ptr<Cluster> cluster_;
  std::set<int> expendable_;
  Stores stores_;
  std::chrono::milliseconds limit_;
  std::vector<int> holder_ranks_;
  std::uint64_t number_ = 0;
  std::shared_ptr<Communicator> holders_;
};

}  // namespace troupe
