#include "troupe/strategies/training/worker_fit.hpp"

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"

namespace troupe {

namespace {

constexpr std::chrono::milliseconds kStatusLimit{20};

/// The next status message of rank 0, if it has the kind and comes within the limit.
std::optional<JobStatus> next_status(Cluster& cluster, JobStatus::Kind kind) {
  const auto bytes = cluster.hear(kStatusLimit);
  if (!bytes) return std::nullopt;
  auto status = JobStatus::decode(*bytes);
  return status.kind == kind ? std::optional(std::move(status)) : std::nullopt;
}

}  // namespace

JobStatus receive_status(Cluster& cluster, JobStatus::Kind kind, const std::function<bool()>& stop_requested) {
  while (!stop_requested || !stop_requested())
    if (auto status = next_status(cluster, kind)) return std::move(*status);
  throw Error("trainer", "stopped before rank 0 had anything to do");
}

FitResult take_part(Cluster& cluster, SpawnedPlan& plan, MetricsLog& log, std::chrono::milliseconds stall_limit,
                    const std::function<bool()>& stop_requested) {
  while (true) {
    log.begin(0);
    plan.start({});
    do {
      if (const auto over = next_status(cluster, JobStatus::Kind::trained))
        return {.steps = over->steps, .rows = over->rows, .seconds = over->seconds, .stopped = over->stopped};
      if (stop_requested && stop_requested()) return {.stopped = true};
      log.take();
      plan.check_progress(stall_limit);
    } while (!plan.done());
    if (const auto failure = plan.failure()) throw Error("run", to_string(*failure));
    log.end_run();
  }
}

}  // namespace troupe
