#include "troupe/strategies/training/worker_fit.hpp"

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"

namespace troupe {

namespace {

constexpr std::chrono::milliseconds kHearLimit{20};

}  // namespace

JobNews hear_news(Cluster& cluster, JobNews::Kind kind, const std::function<bool()>& stop_requested) {
  while (!stop_requested || !stop_requested()) {
    const auto bytes = cluster.hear(kHearLimit);
    if (!bytes) continue;
    auto news = JobNews::decode(*bytes);
    if (news.kind == kind) return news;
  }
  throw Error("trainer", "stopped before process 0 had anything to do");
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
    if (has_heard_the_end(result)) return result;
    if (stop_requested && stop_requested()) {
      result.stopped = true;
      return result;
    }
    log_->take();
    plan_->check_progress(stall_limit_);
    if (plan_->done()) end_run();
  }
}

bool WorkerFit::has_heard_the_end(FitResult& result) {
  const auto bytes = cluster_.hear(kHearLimit);
  if (!bytes) return false;
  const auto news = JobNews::decode(*bytes);
  if (news.kind != JobNews::Kind::trained) return false;
  result.steps = news.steps;
  result.rows = news.rows;
  result.seconds = news.seconds;
  result.stopped = news.stopped;
  return true;
}

/// The next run may begin at once.
void WorkerFit::end_run() {
  if (const auto failure = plan_->failure()) throw Error("run", to_string(*failure));
  log_->end_run({});
  log_->begin(0);
  plan_->start({});
}

}  // namespace troupe
