#include "troupe/strategies/training/training_run.hpp"

#include <algorithm>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/step_boundaries.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/skipped_sample.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

namespace {

// The longest wait of one MetricsLog::take() for the reports of other processes.
constexpr std::chrono::milliseconds kReportLimit{10};

/// The names of all parameters that a plan uses.
std::set<std::string> parameters_of(const Plan& plan) {
  std::set<std::string> names;
  for (const auto& parameter : plan.parameters) names.insert(parameter.ref.name);
  return names;
}

}  // namespace

TrainingRun::TrainingRun(KeptTraining::Training training, EpochRows data, FitOptions options, TrainingProgress progress,
                         std::chrono::milliseconds stall_limit, TrainingHooks hooks)
    : plan_(std::move(training.plan)),
      log_(std::move(training.log)),
      options_(std::move(options)),
      trained_(progress.store, plan_->plan()),
      stall_limit_(stall_limit),
      hooks_(std::move(hooks)),
      progress_(std::move(progress), std::move(data)) {
  // A replay repeats the runs of a recording, so no other thread can end a run early.
  if (options_.record.empty() && options_.replay.empty())
    boundaries_ = std::make_shared<StepBoundaries>(
        progress_.store(), parameters_of(plan_->plan()),
        plan_->is_shared() ? StepBoundaries::Open::on_request : StepBoundaries::Open::between_runs,
        [this] { running_.interrupt(); });
  running_.set(plan_.get());
  const auto driver = drive();
  start_epoch();
}

/// Makes the calling thread the driver of the fit. Other actors run afterwards on a thread of the runtime, so such a
/// thread is the driver until the result is destroyed.
std::shared_ptr<StepBoundaries> TrainingRun::drive() {
  if (!boundaries_) return nullptr;
  boundaries_->set_driver();
  if (!plan_ || !plan_->on_own_thread()) return nullptr;
  return {boundaries_.get(), [weak = std::weak_ptr(boundaries_)](auto*) {
            if (const auto boundaries = weak.lock()) boundaries->clear_driver();
          }};
}

void TrainingRun::keep_position() {
  progress_.keep();
  metrics_.result().accumulated_steps = progress_.accumulated_steps();
}

bool TrainingRun::epoch_complete() const {
  return progress_.has_known_end() ? progress_.epoch_complete() : source_ended_;
}

bool TrainingRun::more_steps() const {
  return !stopping() && (!options_.max_steps || metrics_.result().steps < *options_.max_steps);
}

/// Sets over_: whether the fit is over. If it is not, starts the first run of the next epoch.
void TrainingRun::start_epoch() {
  over_ = !more_steps() || epochs_ >= options_.epochs;
  if (over_) return boundaries_.reset();
  ++epochs_;
  metrics_.begin_epoch();
  start_run();
}

void TrainingRun::start_run() {
  auto left = options_.max_steps ? *options_.max_steps - metrics_.result().steps : kLastStep;
  if (options_.pause_every) left = std::min(left, *options_.pause_every - metrics_.steps_since_pause());
  metrics_.begin_run();
  end_boundary();
  progress_.begin_run();
  updates_before_ = trained_.updates();
  in_run_ = true;
  steps_requested_ = left;
  source_ended_ = false;
  const auto& position = progress_.position();
  log_->begin(position.step);
  plan_->start({position.step, left, position.epoch, position.batch});
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

/// Ends the run for the log, and counts the steps that the other processes report. Calls `check` before every wait.
void TrainingRun::await_reports(const std::function<void()>& check) {
  const auto deadline = Clock::now() + stall_limit_;
  log_->end_run(plan_->absent());
  note_steps();
  while (!log_->complete()) {
    check();
    note_steps(kReportLimit);
    if (Clock::now() > deadline) throw Error("trainer", plan_->busiest_process(stall_limit_) + log_->missing());
  }
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
    metrics_.add(step);
    progress_.pass_step(step.step);
    if (options_.on_step) unreported_.push_back(step);
  }
}

void TrainingRun::report() {
  note_steps();
  for (const auto& step : std::exchange(unreported_, {})) options_.on_step(step);
  if (!stop_wanted_ && is_stop_requested()) stop();
}

/// Throws Error if a step of the run was not finite and such a step ends the fit. A sink ends the run itself if the
/// loss or a gradient of its replica is not finite; this function finds sums over replicas that are too large.
void TrainingRun::expect_finite() const {
  const auto& step = metrics_.not_finite();
  if (options_.on_non_finite_loss == NonFiniteLoss::stop && step)
    throw Error("run", text_of_not_finite(*step) + " (step " + std::to_string(step->step) + ")");
}

bool TrainingRun::is_stop_requested() const {
  return options_.stop_requested && options_.stop_requested();
}

void TrainingRun::stop() {
  stop_wanted_ = true;
  running_.stop();
}

/// Counts the last steps of the run that has ended, stores the position, and calls on_pause or on_epoch or both. Starts
/// the next run if the fit is not over. Returns true if the fit is over.
bool TrainingRun::finish_run() {
  stopped_ = plan_->stopped();
  interrupted_ = plan_->interrupted();
  note_last_steps();
  if (hooks_.on_run_end) hooks_.on_run_end(plan_->plan());
  report();
  expect_finite();
  metrics_.result().staleness = staleness_before_;
  metrics_.result().staleness.add(log_->staleness());
  metrics_.end_run();
  const bool skips_epoch = source_is_used_up();
  const auto last = progress_.position();
  const bool complete = leave_run();
  if (skips_epoch) {
    // An earlier fit has made all steps of this epoch, so the epoch does not count.
    --epochs_;
    start_epoch();
    return over_;
  }
  const bool paused = options_.pause_every && metrics_.steps_since_pause() >= *options_.pause_every;
  if (paused) {
    const auto since = metrics_.pause();
    if (options_.on_pause) plan_->call_back("on_pause", [&] { options_.on_pause(since); });
    if (is_stop_requested()) stop_wanted_ = true;
  }
  if ((paused || interrupted_) && !complete && more_steps())
    start_run();
  else
    finish_epoch(last, complete);
  return over_;
}

/// Stores the position after a run, and begins a step boundary. Returns whether the epoch is complete.
bool TrainingRun::leave_run() {
  const bool complete = epoch_complete();
  if (complete) progress_.begin_next_epoch();
  keep_position();
  in_run_ = false;
  if (boundaries_) boundaries_->open();
  return complete;
}

/// Sets source_ended_: whether the source of batches has ended the epoch before the run made all its steps. Returns
/// true if the source is a user's actor and this fit has made no step of the epoch, because an earlier fit has made its
/// last step. Throws Error if the actor has made no batch in the epoch.
bool TrainingRun::source_is_used_up() {
  const auto steps = progress_.batches_of_run();
  const bool ended = !stopping() && !interrupted_ && steps < steps_requested_;
  if (!progress_.has_known_end() && ended && progress_.position().batch == 0)
    throw Error("trainer", "the source of batches gave none in epoch " + std::to_string(progress_.position().epoch));
  source_ended_ = ended;
  return !progress_.has_known_end() && ended && steps == 0 && metrics_.steps_of_epoch() == 0;
}

void TrainingRun::finish_epoch(const TrainingPosition& last, bool complete) {
  // In a fit of several processes, a stop between two epochs is agreed on by a further run, which ends without steps in
  // all processes. That run is not reported as an epoch.
  if (stopped_ && metrics_.steps_of_epoch() == 0 && !metrics_.result().epochs.empty()) {
    metrics_.result().stopped = over_ = true;
    return boundaries_.reset();
  }
  const auto& epoch = metrics_.end_epoch(last.epoch, complete);
  if (options_.on_epoch) plan_->call_back("on_epoch", [&] { options_.on_epoch(epoch); });
  if (is_stop_requested()) stop_wanted_ = true;
  metrics_.result().stopped = stopping();
  start_epoch();
}

/// Ends the fit after an exception, or in the destructor.
void TrainingRun::end_early() {
  over_ = true;
  note_steps();
  unreported_.clear();
  if (in_run_) note_position();
  // Only now may other threads set parameters, which counts as an update.
  boundaries_.reset();
  if (!in_run_) return;
  if (epoch_complete()) progress_.begin_next_epoch();
  keep_position();
}

/// Sets the position after a run that has failed or was given up. It is computed from the updates of the parameters,
/// because a step may have been reported whose update was never made.
void TrainingRun::note_position() {
  if (plan_ && has_invalid_sample()) return pass_invalid_sample(plan_->failure()->step);
  if (const auto updates_now = trained_.updates()) progress_.set_steps(*updates_now - updates_before_.value_or(0));
}

/// Sets the position after the batch of a step that has failed because of a sample. The batch is no step. The failure,
/// and so the position, is the same in all processes.
void TrainingRun::pass_invalid_sample(std::int64_t step) {
  // If replicas do not share steps, the steps after the failed one were made and reported, too.
  if (!progress_.shares_steps()) return;
  progress_.set_next_step(step);
  progress_.pass_batch();
}

/// Whether a sample that cannot be used has failed the run, and all actors have finished it.
bool TrainingRun::has_invalid_sample() const {
  const auto failure = plan_->failure();
  return failure && failure->kind == FailureKind::invalid_sample && plan_->drained();
}

/// Called after a run that has failed. If a sample that cannot be used has caused the failure, goes on after its batch
/// and returns true, or throws InvalidSample; see FitOptions::on_invalid_sample. Otherwise returns false.
bool TrainingRun::leaves_out(const Failure& failure) {
  if (!has_invalid_sample()) return false;
  await_reports([] {});
  if (hooks_.on_run_end) hooks_.on_run_end(plan_->plan());
  report();
  auto skipped = skipped_sample(failure, progress_, metrics_.without_rows());
  if (options_.on_invalid_sample == InvalidSamples::stop) throw InvalidSample("run", skipped.text, skipped.sample);
  metrics_.add_skipped(std::move(skipped));
  leave_out_batch();
  return true;
}

/// Goes on after the batch that has failed, with new actors.
void TrainingRun::leave_out_batch() {
  stopped_ = plan_->stopped();
  interrupted_ = plan_->interrupted();
  staleness_before_.add(log_->staleness());
  note_position();
  metrics_.end_run();
  const auto last = progress_.position();
  const bool complete = leave_run();
  running_.set(nullptr);
  plan_.reset();
  auto training = hooks_.respawn();
  plan_ = std::move(training.plan);
  log_ = std::move(training.log);
  running_.set(plan_.get());
  if (on_progress_) plan_->on_over(on_progress_);
  if (!complete && more_steps())
    start_run();
  else
    finish_epoch(last, complete);
}

void TrainingRun::call_on_over(bool succeeded) {
  if (const auto on_over = std::exchange(hooks_.on_over, {})) on_over(metrics_.result(), succeeded);
}

TrainingRun::~TrainingRun() {
  try {
    call_on_over(over_ && !error_);
  } catch (...) {
    // A destructor must not throw.
  }
  running_.set(nullptr);
  try {
    if (over_ && !error_ && hooks_.on_release) hooks_.on_release({std::move(plan_), std::move(log_)});
    if (over_) return;
    plan_.reset();
    end_early();
  } catch (...) {
    // A destructor must not throw.
  }
}

void TrainingRun::on_progress(std::function<void()> callback) {
  on_progress_ = callback;
  plan_->on_over(callback);
  // The run may have ended before the callback was set; the callback is then called here.
  if (over_ || plan_->done()) callback();
}

bool TrainingRun::advance() {
  if (over_) return true;
  const auto driver = drive();
  try {
    if (!error_) report();
    if (plan_) plan_->check_progress(stall_limit_);
    if (plan_ && !plan_->done()) return false;
    if (error_) std::rethrow_exception(error_);
    if (const auto failure = plan_->failure()) {
      if (leaves_out(*failure)) return over_;
      throw Error("run", to_string(*failure));
    }
    report();
    return finish_run();
  } catch (...) {
    error_ = std::current_exception();
  }
  // After an exception of a callback, all replicas end at the same step.
  if (plan_) plan_->stop_because_of(error_);
  if (plan_ && !plan_->done()) return false;
  end_early();
  std::rethrow_exception(error_);
}

FitResult TrainingRun::wait() {
  bool callback_has_thrown = false;
  const auto on_interval = [&] {
    callback_has_thrown = true;
    report();
    callback_has_thrown = false;
  };
  const WaitOptions options{.stall_limit = stall_limit_, .on_interval = on_interval};
  if (boundaries_) boundaries_->set_driver();
  try {
    while (!over_) {
      callback_has_thrown = false;
      try {
        plan_->wait(options);
      } catch (const Error&) {
        const auto failure = plan_->failure();
        if (callback_has_thrown || !failure || !leaves_out(*failure)) throw;
        continue;
      }
      finish_run();
    }
  } catch (...) {
    error_ = std::current_exception();
    if (plan_) plan_->stop_because_of(error_);
    end_early();
    throw;
  }
  call_on_over(true);
  return metrics_.result();
}

}  // namespace troupe
