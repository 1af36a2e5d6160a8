#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "troupe/strategies/training/job_news.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

class MetricsLog;

/// The next news of that kind from process 0; what else it tells before is passed over. Throws Error if it is gone.
JobNews hear_news(Cluster& cluster, JobNews::Kind kind, const std::function<bool()>& stop_requested = {});

/// A fit as it is in a process without which the others could go on: it takes part in the runs that process 0 starts,
/// for as long as that trains. May begin while they are under way. One thread.
class WorkerFit {
 public:
  WorkerFit(Cluster& cluster, std::unique_ptr<SpawnedPlan> plan, std::unique_ptr<MetricsLog> log,
            std::chrono::milliseconds stall_limit);
  ~WorkerFit();

  /// Until process 0 says that it has trained, or `stop_requested` that this process leaves the others alone. Throws
  /// Error with the root cause if a run fails, or if process 0 is gone.
  FitResult take_part(const std::function<bool()>& stop_requested);

 private:
  bool has_heard_the_end(FitResult& result);
  void end_run();

  Cluster& cluster_;
  std::unique_ptr<SpawnedPlan> plan_;
  std::unique_ptr<MetricsLog> log_;
  std::chrono::milliseconds stall_limit_;
};

}  // namespace troupe
