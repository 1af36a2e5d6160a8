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

/// The longest stall of a run that the destructor of its fit ends. The run is given up after it.
constexpr std::chrono::seconds kBoundaryLimit{10};

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
  bool is_requested = false;
  if (options_.stop_requested) plan_->call_back("stop_requested", [&] { is_requested = options_.stop_requested(); });
  return is_requested;
}

void TrainingRun::stop() {
  stop_wanted_ = true;
  running_.stop();
}

/// Called by the destructor. Ends the run at a step boundary, because of `error_`, if its actors belong to this process
/// and reach one. A thread of the actors cannot wait for them.
void TrainingRun::end_at_boundary() {
  if (plan_->is_shared() || (!plan_->drained() && plan_->on_own_thread())) return;
  try {
    plan_->stop();
    if (!plan_->done()) plan_->wait({.stall_limit = std::min<std::chrono::milliseconds>(stall_limit_, kBoundaryLimit)});
  } catch (const Error&) {
    // The run has failed.
  }
  if (!plan_->drained()) return;
  try {
    if (plan_->failure())
      end_failed_run();
    else
      finish_run();
  } catch (...) {
    // error_, or an error of the exchange of values
  }
}

/// Gives up a run that has failed and whose actors have not finished, so that none trains after the position is stored.
/// The parameters may be broken then. On a thread of the actors only the destructor gives the run up.
void TrainingRun::end_open_run() {
  if (!in_run_ || !plan_ || plan_->drained() || plan_->on_own_thread()) return;
  running_.set(nullptr);
  plan_.reset();
}

/// Does nothing if the run was given up: its leases break what may be half-written.
void TrainingRun::note_no_exchange() {
  if (exchanged_ || !plan_ || !plan_->done() || !plan_->drained()) return;
  if (hooks_.on_no_exchange) hooks_.on_no_exchange(*plan_);
}

/// Ends the fit after an exception, or in the destructor.
void TrainingRun::end_early() {
  over_ = true;
  end_open_run();
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
  // After note_position(), which reads the numbers of updates of whole copies.
  note_no_exchange();
  // Only now may other threads set parameters, which counts as an update.
  boundaries_.reset();
}

/// Sets the position after a run that has failed or was given up. It is computed from the updates of the parameters,
/// because a step may have been reported whose update was never made. If an update is not made of one step of all
/// replicas, but all replicas have ended at the same step, it is the position after the reported steps. If a sample has
/// failed the run, but another error ends the fit, the next fit begins with the batch of the sample.
void TrainingRun::note_position() {
  const bool in_order = plan_ && plan_->drained();
  const auto steps = progress_.steps_per_update();
  const auto updates = trained_.updates();
  if (in_order && (steps != 1 || !updates || progress_.decides_by_replica())) note_reports_of_all();
  if (has_invalid_sample()) {
    if (const auto step = plan_->failure()->step; !has_passed(step)) progress_.set_next_step(step);
    return;
  }
  const bool by_updates = steps && updates && (!in_order || (*steps == 1 && !progress_.decides_by_replica()));
  if (!by_updates) return;
  // A copy of another replica, which this run does not train, may be the newest whole one, and have fewer updates.
  const auto updates_of_run = std::max<std::int64_t>(0, *updates - updates_before_.value_or(0));
  // The last update of a run may be made of fewer steps than the others.
  const auto fewest = std::max<std::int64_t>(0, updates_of_run - 1) * *steps + (updates_of_run > 0 ? 1 : 0);
  progress_.set_steps(std::clamp(progress_.batches_of_run(), fewest, updates_of_run * *steps));
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
    // Without a driver, storing the position would wait for a boundary of this fit.
    const auto driver = drive();
    error_ = std::make_exception_ptr(Error("run", "the fit was given up"));
    if (plan_) plan_->on_over({});
    if (plan_ && in_run_) end_at_boundary();
    note_no_exchange();
    // The processes of a shared run have not exchanged their values, so the run is given up.
    if (plan_ && (plan_->is_shared() || !plan_->done() || !plan_->drained())) plan_.reset();
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
    report_in_run();
    if (plan_) plan_->check_progress(stall_limit_);
    if (plan_ && !plan_->done()) return false;
    if (const auto failure = plan_ ? plan_->failure() : nullptr) {
      if (leaves_out(*failure)) return over_;
      if (error_) std::rethrow_exception(error_);
      throw Error("run", to_string(*failure));
    }
    return finish_run();
  } catch (...) {
    end_by_exception();
  }
}

/// Ends the fit because of the exception that is being handled, and rethrows it.
void TrainingRun::end_by_exception() {
  error_ = std::current_exception();
  if (plan_) plan_->stop_because_of(error_);
  end_early();
  throw;
}

FitResult TrainingRun::wait() {
  const WaitOptions options{.stall_limit = stall_limit_, .on_interval = [this] { report_in_run(); }};
  if (boundaries_) boundaries_->set_driver();
  try {
    while (!over_) {
      try {
        plan_->wait(options);
      } catch (...) {
        const auto failure = plan_->failure();
        if (failure && leaves_out(*failure)) continue;
        if (error_) std::rethrow_exception(error_);
        throw;
      }
      finish_run();
    }
  } catch (...) {
    end_by_exception();
  }
  call_on_over(true);
  return metrics_.result();
}

}  // namespace troupe
