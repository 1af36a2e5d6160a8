// The boundaries between the runs and between the epochs of a TrainingRun.

#include <algorithm>
#include <utility>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/step_boundaries.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/checkpoint/fit_checkpoints.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/training_run.hpp"

namespace troupe {

bool TrainingRun::epoch_complete() const {
  return progress_.has_known_end() ? progress_.epoch_complete() : source_ended_;
}

bool TrainingRun::more_steps() const {
  return !stopping() && (!options_.max_steps || metrics_.result().steps < *options_.max_steps);
}

/// Sets over_: whether the fit is over. If it is not, starts the first run of the next epoch.
void TrainingRun::start_epoch() {
  over_ = !more_steps() || epochs_ >= options_.epochs;
  if (over_) return end_fit();
  ++epochs_;
  metrics_.begin_epoch();
  start_run();
}

void TrainingRun::write_checkpoint() {
  plan_->call_back("the checkpoint", [&] { hooks_.checkpoints->write(progress_.position().step); });
}

void TrainingRun::end_fit() {
  if (hooks_.checkpoints) write_checkpoint();
  boundaries_.reset();
}

void TrainingRun::start_run() {
  auto left = options_.max_steps ? *options_.max_steps - metrics_.result().steps : kLastStep;
  if (options_.pause_every) left = std::min(left, *options_.pause_every - metrics_.steps_since_pause());
  if (hooks_.checkpoints) {
    const auto step = progress_.position().step;
    // After the callbacks at the end of the last run, which may have changed the parameters.
    if (hooks_.checkpoints->is_due(step)) write_checkpoint();
    left = std::min(left, hooks_.checkpoints->steps_left(step));
  }
  metrics_.begin_run();
  end_boundary();
  progress_.begin_run();
  updates_before_ = trained_.updates();
  steps_requested_ = left;
  source_ended_ = false;
  const auto& position = progress_.position();
  log_->begin(position.step);
  plan_->start({position.step, left, position.epoch, position.batch});
  in_run_ = true;
  exchanged_ = false;
  if (boundaries_) boundaries_->note_run();
  // A stop() before plan_->start() had no effect on the plan, so it is repeated.
  if (stop_wanted_) plan_->stop();
}

/// Lets the threads that have asked for a step boundary read and set parameters before the next run starts.
void TrainingRun::end_boundary() {
  const bool requested = std::exchange(interrupted_, false);
  if (!boundaries_) return;
  boundaries_->close(requested);
  if ((requested || !plan_->is_shared()) && hooks_.on_boundary) hooks_.on_boundary();
  boundaries_->publish();
}

/// Returns true if the fit ends because it was stopped. In a fit of several processes only a stop that has ended a run
/// counts, because all processes know of it.
bool TrainingRun::stopping() const {
  return plan_->is_shared() ? stopped_ : stop_wanted_.load();
}

/// Counts the last steps of the run that has ended, stores the position, and calls on_pause or on_epoch or both. Starts
/// the next run if the fit is not over. Returns true if the fit is over. Rethrows the exception of a callback that was
/// called in the run, after the values of the run are exchanged: other processes may not know of the exception.
bool TrainingRun::finish_run() {
  error_ ? note_reports_of_all() : note_last_steps();
  exchange_values();
  if (error_) std::rethrow_exception(error_);
  report();
  expect_finite();
  const bool skips_epoch = source_is_used_up();
  const auto ended = leave_run();
  if (skips_epoch) {
    // An earlier fit has passed all batches of this epoch, so the epoch does not count.
    --epochs_;
    start_epoch();
  } else {
    go_on(ended, interrupted_);
  }
  return over_;
}

void TrainingRun::exchange_values() {
  if (hooks_.on_run_end) hooks_.on_run_end(*plan_);
  exchanged_ = true;
}

/// Adds the run that has ended to the result, stores the position, and begins a step boundary.
TrainingRun::EndedRun TrainingRun::leave_run() {
  metrics_.result().staleness = staleness_before_;
  metrics_.result().staleness.add(log_->staleness());
  metrics_.end_run();
  const auto last = progress_.position();
  const bool complete = store_position();
  if (boundaries_) boundaries_->open();
  return {last, complete};
}

/// Stores the position after a run. Returns whether the epoch is complete.
bool TrainingRun::store_position() {
  const bool complete = epoch_complete();
  if (complete) progress_.begin_next_epoch();
  metrics_.result().accumulated_steps = progress_.accumulated_steps();
  in_run_ = false;
  progress_.keep();
  trained_.note_step(progress_.position().step);
  return complete;
}

/// Calls on_pause if a pause is due. Then starts the next run of the epoch if `ended` was ended for a pause or for
/// another reason to go on (`goes_on`), else ends the epoch.
void TrainingRun::go_on(const EndedRun& ended, bool goes_on) {
  if (options_.pause_every && metrics_.steps_since_pause() >= *options_.pause_every) {
    goes_on = true;
    const auto since = metrics_.pause();
    if (options_.on_pause) plan_->call_back("on_pause", [&] { options_.on_pause(since); });
    if (is_stop_requested()) stop_wanted_ = true;
  }
  goes_on = goes_on || (hooks_.checkpoints && hooks_.checkpoints->is_due(progress_.position().step));
  if (goes_on && !ended.complete && more_steps())
    start_run();
  else
    finish_epoch(ended);
}

/// Sets source_ended_: whether the source of batches has ended the epoch before the run made all its steps. Returns
/// true if the source is a user's actor and this fit has passed no batch of the epoch, because an earlier fit has
/// passed its last one. Throws Error if the actor has made no batch in the epoch.
bool TrainingRun::source_is_used_up() {
  const auto steps = progress_.batches_of_run();
  const bool ended = !stopping() && !interrupted_ && steps < steps_requested_;
  if (!progress_.has_known_end() && ended && progress_.position().batch == 0)
    throw Error("trainer", "the source of batches gave none in epoch " + std::to_string(progress_.position().epoch));
  source_ended_ = ended;
  return !progress_.has_known_end() && ended && steps == 0 && metrics_.batches_of_epoch() == 0;
}

void TrainingRun::finish_epoch(const EndedRun& ended) {
  // In a fit of several processes, a stop between two epochs is agreed on by a further run, which ends without batches
  // in all processes. That run is not reported as an epoch.
  if (stopped_ && metrics_.batches_of_epoch() == 0 && !metrics_.result().epochs.empty()) {
    metrics_.result().stopped = over_ = true;
    return end_fit();
  }
  const auto& epoch = metrics_.end_epoch(ended.last.epoch, ended.complete);
  if (options_.on_epoch) plan_->call_back("on_epoch", [&] { options_.on_epoch(epoch); });
  if (is_stop_requested()) stop_wanted_ = true;
  metrics_.result().stopped = stopping();
  start_epoch();
}

}  // namespace troupe
