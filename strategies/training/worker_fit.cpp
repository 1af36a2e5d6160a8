#include "troupe/strategies/training/worker_fit.hpp"

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"

namespace troupe {

namespace {

constexpr std::chrono::milliseconds kStatusLimit{20};

}  // namespace

JobStatus receive_status(Cluster& cluster, JobStatus::Kind kind, const std::function<bool()>& stop_requested) {
  while (!stop_requested || !stop_requested()) {
    const auto bytes = cluster.hear(kStatusLimit);
    if (!bytes) continue;
    auto status = JobStatus::decode(*bytes);
    if (status.kind == kind) return status;
  }
  throw Error("trainer", "stopped before rank 0 had anything to do");
}

WorkerFit::WorkerFit(Cluster& cluster, std::unique_ptr<SpawnedPlan> plan, std::unique_ptr<MetricsLog> log,
                     std::chrono::milliseconds stall_limit)
    : cluster_(cluster), plan_(std::move(plan)), log_(std::move(log)), stall_limit_(stall_limit) {}

WorkerFit::~WorkerFit() = default;

FitResult WorkerFit::take_part(const std::function<bool()>& stop_requested) {
  FitResult result;
  log_->begin(0);
  plan_->start({});
  while (true) {
    if (fit_is_over(result)) return result;
    if (stop_requested && stop_requested()) {
      result.stopped = true;
      return result;
    }
    log_->take();
    plan_->check_progress(stall_limit_);
    if (plan_->done()) end_run();
  }
}

/// Whether rank 0 has announced the end of its fit. Sets the result then.
bool WorkerFit::fit_is_over(FitResult& result) {
  const auto bytes = cluster_.hear(kStatusLimit);
  if (!bytes) return false;
  const auto status = JobStatus::decode(*bytes);
  if (status.kind != JobStatus::Kind::trained) return false;
  result.steps = status.steps;
  result.rows = status.rows;
  result.seconds = status.seconds;
  result.stopped = status.stopped;
  return true;
}

/// Ends a run, and is ready for the next one at once.
void WorkerFit::end_run() {
  if (const auto failure = plan_->failure()) throw Error("run", to_string(*failure));
  log_->end_run({});
  log_->begin(0);
  plan_->start({});
}

}  // namespace troupe
