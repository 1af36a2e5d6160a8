#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "troupe/strategies/training/job_status.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

class MetricsLog;

/// Waits for the next status message of a kind from rank 0, and discards messages of other kinds. Throws Error if rank
/// 0 is lost, or a stop is requested.
JobStatus receive_status(Cluster& cluster, JobStatus::Kind kind, const std::function<bool()>& stop_requested = {});

/// fit() in an expendable process: takes part in the runs that rank 0 starts, until the fit of rank 0 is over. It may
/// begin while they are under way. Used on one thread.
class WorkerFit {
 public:
  WorkerFit(Cluster& cluster, std::unique_ptr<SpawnedPlan> plan, std::unique_ptr<MetricsLog> log,
            std::chrono::milliseconds stall_limit);
  ~WorkerFit();

  /// Returns when the fit of rank 0 is over, or `stop_requested` returns true; the other processes go on then. Throws
  /// Error with the root cause if a run fails, or if rank 0 is lost.
  FitResult take_part(const std::function<bool()>& stop_requested);

 private:
  bool fit_is_over(FitResult& result);
  void end_run();

  Cluster& cluster_;
  std::unique_ptr<SpawnedPlan> plan_;
  std::unique_ptr<MetricsLog> log_;
  std::chrono::milliseconds stall_limit_;
};

}  // namespace troupe
