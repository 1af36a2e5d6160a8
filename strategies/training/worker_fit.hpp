#pragma once

#include <chrono>
#include <functional>

#include "troupe/strategies/training/job_status.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// Waits for the next status message of a kind from rank 0, and discards messages of other kinds. Throws Error if rank
/// 0 is lost, or a stop is requested.
JobStatus receive_status(Cluster& cluster, JobStatus::Kind kind, const std::function<bool()>& stop_requested = {});

/// fit() in an expendable process: takes part in the runs that rank 0 starts. It may begin while they are under way.
/// Returns when the fit of rank 0 is over, or `stop_requested` returns true; the other processes go on then. Throws
/// Error with the root cause if a run fails, or if rank 0 is lost.
FitResult take_part(Cluster& cluster, SpawnedPlan& plan, MetricsLog& log, std::chrono::milliseconds stall_limit,
                    const std::function<bool()>& stop_requested);

}  // namespace troupe
