// A TrainingRun after a run that a sample has failed: the batch of the sample is left out, and is no step.

#include <string>
#include <utility>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/skipped_sample.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

/// Whether a sample that cannot be used has failed the run, and all actors have finished it. The answer is the same in
/// all processes.
bool TrainingRun::has_invalid_sample() const {
  const auto failure = plan_ ? plan_->failure() : nullptr;
  return failure && failure->kind == FailureKind::invalid_sample && plan_->drained();
}

/// Whether a step that no worker has reported belongs to a batch that is left out. Replicas that share steps report no
/// such step.
bool TrainingRun::is_left_out(const StepMetrics& step) const {
  return !progress_.shares_steps() && step.batch_rows == 0 && has_invalid_sample();
}

/// Called after a run that has failed. If all actors have finished the run, brings the values of the parameters to all
/// processes. If a sample that cannot be used has caused the failure, goes on after its batch and returns true, or
/// throws InvalidSample; see FitOptions::on_invalid_sample. Throws the exception of a callback, in all processes, if
/// one has thrown. Otherwise returns false.
bool TrainingRun::leaves_out(const Failure& failure) {
  if (!plan_->drained()) return false;
  end_failed_run();
  if (!has_invalid_sample()) return false;
  auto skipped = skipped_sample(failure, progress_, metrics_.left_out());
  pass_batch(failure.step);
  const auto ended = leave_run();
  if (options_.on_invalid_sample == InvalidSamples::stop) throw InvalidSample("run", skipped.text, skipped.sample);
  metrics_.add_skipped(std::move(skipped));
  respawn();
  go_on(ended, true);
  return true;
}

/// Reports the last steps of a run that has failed, and exchanges its values. Every process calls this function once
/// after such a run, also if a callback has thrown in the process (`error_`), so that all of them go on or none. Throws
/// `error_`, the exception of this function's callbacks, or, if the failure is a sample, Error with the text of another
/// process.
void TrainingRun::end_failed_run() {
  auto error = error_;
  try {
    await_reports([] {});
    if (!error) report();
    if (!error && has_invalid_sample()) expect_finite();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  auto first_error = error ? text_of(error) : std::string();
  try {
    if (hooks_.agree_on_error) first_error = hooks_.agree_on_error(first_error);
    exchange_values();
  } catch (const Error&) {
    // After any other failure than a sample the values may be half-written, or a process may be gone, and the fit
    // passes on that failure.
    if (!error && has_invalid_sample()) throw;
  }
  if (error) std::rethrow_exception(error);
  if (!first_error.empty() && has_invalid_sample()) throw Error("run", first_error);
}

/// Whether the reported steps include those that other replicas have made after the failed step `step`, or their parts
/// of it.
bool TrainingRun::has_passed(std::int64_t step) const {
  return !progress_.shares_steps() || (progress_.decides_by_replica() && progress_.position().step > step);
}

/// Sets the position after the batch of step `step`, which has failed. If no replica has applied a part of it, the
/// batch is no step. The failure, and so the position, is the same in all processes.
void TrainingRun::pass_batch(std::int64_t step) {
  if (has_passed(step)) return;
  progress_.set_next_step(step);
  progress_.pass_batch();
}

/// Replaces the actors, which cannot run again, by new ones.
void TrainingRun::respawn() {
  staleness_before_ = metrics_.result().staleness;
  running_.set(nullptr);
  plan_.reset();
  auto training = hooks_.respawn();
  plan_ = std::move(training.plan);
  log_ = std::move(training.log);
  running_.set(plan_.get());
  if (on_progress_) plan_->on_over(on_progress_);
}

}  // namespace troupe
