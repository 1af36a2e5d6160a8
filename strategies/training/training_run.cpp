#include "troupe/strategies/training/training_run.hpp"

#include <algorithm>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/step_boundaries.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

namespace {

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
      trained_(progress.stores, plan_->plan()),
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
  metrics_.result().accumulated_steps = progress_.accumulated_steps();
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

bool TrainingRun::is_stop_requested() const {
  return options_.stop_requested && options_.stop_requested();
}

void TrainingRun::stop() {
  stop_wanted_ = true;
  running_.stop();
}

/// Ends the fit after an exception, or in the destructor.
void TrainingRun::end_early() {
  over_ = true;
  note_steps();
  unreported_.clear();
  if (in_run_) {
    note_position();
    try {
      store_position();
    } catch (...) {
      // The position is stored, and error_ is passed on.
    }
  }
  // Only now may other threads set parameters, which counts as an update.
  boundaries_.reset();
}

/// Sets the position after a run that has failed or was given up. It is computed from the updates of the parameters,
/// because a step may have been reported whose update was never made. If a sample has failed the run, but another error
/// ends the fit, the next fit begins with the batch of the sample.
void TrainingRun::note_position() {
  if (plan_ && has_invalid_sample()) {
    if (progress_.shares_steps()) progress_.set_next_step(plan_->failure()->step);
  } else if (const auto updates_now = trained_.updates()) {
    progress_.set_steps(*updates_now - updates_before_.value_or(0));
  }
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
  // The fit may have failed while no plan was spawned.
  if (plan_) plan_->on_over(callback);
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
    const auto failure = plan_ ? plan_->failure() : nullptr;
    if (failure && leaves_out(*failure)) return over_;
    if (error_) std::rethrow_exception(error_);
    if (failure) throw Error("run", to_string(*failure));
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
      } catch (...) {
        if (callback_has_thrown) error_ = std::current_exception();
        const auto failure = plan_->failure();
        if (!failure || !leaves_out(*failure)) throw;
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
