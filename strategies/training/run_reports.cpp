// The reports of the steps of a TrainingRun, which the sinks make.

#include <algorithm>
#include <string>
#include <utility>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/timed_out.hpp"

namespace troupe {

namespace {

// The longest wait of one MetricsLog::take() for the reports of other processes.
constexpr std::chrono::milliseconds kReportLimit{10};

}  // namespace

/// Waits until the other processes have reported the last steps of the run that has ended. Throws Error if they do not
/// within stall_limit_.
void TrainingRun::note_last_steps() {
  const auto expect_no_failure = [this] {
    if (const auto cause = plan_->final_failure()) throw Error("run", to_string(*cause));
  };
  try {
    await_reports(expect_no_failure);
  } catch (const Error&) {
    // A process whose program has thrown sends the text, which fails the plan, before it is lost.
    expect_no_failure();
    throw;
  }
  expect_all_steps();
}

/// Counts the steps that the other processes report for a run that all replicas have ended, though the fit fails. A
/// process that cannot report any more ends the wait.
void TrainingRun::note_reports_of_all() {
  if (log_->complete()) return;
  try {
    await_reports([] {});
  } catch (const Error&) {
    // The fit passes on the error that has ended it.
  }
}

/// Ends the run for the log, and counts the steps that the other processes report. Calls `check` before every wait.
/// Notes whether the run was ended early.
void TrainingRun::await_reports(const std::function<void()>& check) {
  stopped_ = plan_->stopped();
  interrupted_ = plan_->interrupted();
  const auto deadline = Clock::now() + stall_limit_;
  log_->end_run(plan_->absent(), plan_->failure() != nullptr);
  note_steps();
  plan_->await_others(stall_limit_, [&] {
    while (!log_->complete()) {
      check();
      note_steps(kReportLimit);
      if (Clock::now() > deadline) throw TimedOut("trainer", log_->missing());
    }
  });
}

/// Throws Error if the run was not stopped and fewer steps were reported than the data has.
void TrainingRun::expect_all_steps() const {
  if (plan_->stopped() || plan_->interrupted() || !progress_.has_known_end() || !options_.replay.empty()) return;
  const auto planned = std::min(steps_requested_, progress_.batches_at_begin());
  const auto reported = progress_.batches_of_run();
  if (reported >= planned) return;
  const auto missing = log_->missing();
  throw Error("trainer",
              "the run is over, but " + std::to_string(reported) + " of its " + std::to_string(planned) +
                  " steps were reported: " + (missing.empty() ? "no replica has reported the others" : missing));
}

/// Counts the steps that the log has completed since the last call, and keeps them for on_step.
void TrainingRun::note_steps(std::chrono::milliseconds limit) {
  for (const auto& step : log_->take(limit)) {
    progress_.pass_step(step.step);
    if (is_left_out(step)) {
      metrics_.add_left_out(step);
      continue;
    }
    metrics_.add(step);
    if (options_.on_step) unreported_.push_back(step);
  }
}

void TrainingRun::report() {
  note_steps();
  plan_->call_back(SpawnedPlan::kCallback, [this] {
    for (const auto& step : std::exchange(unreported_, {})) options_.on_step(step);
  });
  if (!stop_wanted_ && is_stop_requested()) stop();
}

/// Reports steps while the run may be in progress. If a callback throws, keeps its exception in error_ and ends the
/// run, which all processes see alike; the fit ends by the exception once the run is over.
void TrainingRun::report_in_run() {
  if (error_) return;
  try {
    report();
  } catch (...) {
    error_ = std::current_exception();
    if (plan_) plan_->end_run_because_of(error_);
  }
}

/// Throws Error if a step of the run was not finite and such a step ends the fit. A sink ends the run itself if the
/// loss or a gradient of its replica is not finite; this function finds sums over replicas that are too large.
void TrainingRun::expect_finite() const {
  const auto& step = metrics_.not_finite();
  if (options_.on_non_finite_loss == NonFiniteLoss::stop && step)
    throw Error("run", text_of_not_finite(*step) + " (step " + std::to_string(step->step) + ")");
}

}  // namespace troupe
