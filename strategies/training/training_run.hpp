#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/strategies/checkpoint/checkpoints.hpp"
#include "troupe/strategies/training/epoch_progress.hpp"
#include "troupe/strategies/training/fit_metrics.hpp"
#include "troupe/strategies/training/fit_result.hpp"
#include "troupe/strategies/training/kept_training.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/running_plan.hpp"
#include "troupe/strategies/training/skipped_sample.hpp"
#include "troupe/strategies/training/trained_parameters.hpp"

namespace troupe {

class FitCheckpoints;
class MetricsLog;
class SpawnedPlan;
class StepBoundaries;
struct Failure;
struct Plan;

struct FitOptions {
  /// Number of epochs. The rest of an epoch that the previous fit left incomplete counts as one.
  std::int64_t epochs = 1;
  /// If set, the fit ends after this number of steps, counted from its own first step.
  std::optional<std::int64_t> max_steps = {};
  /// Called for every step in order, while training continues: about ten times a second, the steps completed since the
  /// last time are reported together. To end a fit at an exact step, use max_steps. The callback must use neither the
  /// trainer nor its parameters, to which training writes. All callbacks of these options run on the thread that calls
  /// TrainingRun::wait() or advance(). If a callback throws, training ends at the same step for all replicas, and
  /// wait() or advance() rethrows the exception. In the other processes of the job, fit() throws Error with its text.
  std::function<void(const StepMetrics&)> on_step = {};
  /// Called at the end of every epoch, also an incomplete one, while no step is computed. It may use the trainer, for
  /// example to evaluate or for another fit. This fit then continues from the position where the other fit ended.
  std::function<void(const EpochMetrics&)> on_epoch = {};
  /// If set, training pauses after every `pause_every` steps of this fit, and on_pause is called with the means of the
  /// steps since the last pause. on_pause may use the trainer like on_epoch. A pause does not change the results of the
  /// steps, except with LocalSgd and several local steps, whose workers exchange parameters at a pause.
  std::optional<std::int64_t> pause_every = {};
  std::function<void(const Metrics&)> on_pause = {};
  /// Called about ten times a second, and after on_epoch and on_pause. If it returns true, the fit ends, at the same
  /// step for all replicas.
  std::function<bool()> stop_requested = {};
  /// A step whose loss or gradients are not finite makes no update, unless TrainerOptions::check_finite is false. With
  /// `stop` it ends the fit with an Error, though a few later steps may still be made; with `skip` the fit continues.
  NonFiniteLoss on_non_finite_loss = NonFiniteLoss::stop;
  /// With `skip`, the fit plans and spawns its actors anew after the batch of the sample. fit() refuses `skip` by Error
  /// together with `record` or `replay`, and for strategies whose parameters may not be whole after a failed step:
  /// those with replicas on devices other than cores, those whose replicas train apart
  /// (Strategy::decides_by_replica()), such as LocalSgd, and those with expendable processes.
  InvalidSamples on_invalid_sample = InvalidSamples::stop;
  /// The file to which rank 0 writes, at the end of the fit, the decisions of the strategy's parameter shards that
  /// depend on the order of messages; see Recording. Empty: no file. Nothing is written if the fit fails.
  std::string record = {};
  /// A file written by `record`: the fit repeats the recorded fit to the bit. Every process reads the file, except
  /// expendable ones; see Strategy::expendable(). Empty: no replay.
  std::string replay = {};
  /// The checkpoints that rank 0 writes during the fit. A fit of `LocalSgd` with several local steps exchanges
  /// parameters before each, as at a pause. Trainer::resume() goes on from the newest one.
  std::optional<Checkpoints> checkpoints = {};
};

/// Callbacks through which a Trainer does its own work at the end of each run of the plan and at the end of a fit.
struct TrainingHooks {
  /// Called with the plan when a run of the plan has succeeded, before on_step reports the last steps of the run, and
  /// when it has failed and all actors have finished it, after that.
  std::function<void(SpawnedPlan&)> on_run_end = {};
  /// Called with the plan when a fit ends after a run whose actors have all finished, but for which on_run_end was not
  /// called or has thrown.
  std::function<void(SpawnedPlan&)> on_no_exchange = {};
  /// Called before a run if another thread may have set parameters; see StepBoundaries. Brings the newest values to all
  /// processes and stores.
  std::function<void()> on_boundary = {};
  /// Called once: by wait() if it succeeds, else by the destructor of TrainingRun. `succeeded` is false if the fit has
  /// failed or was given up.
  std::function<void(const FitResult&, bool succeeded)> on_over = {};
  /// Called in every process after a run that a sample has failed, with the text of the exception of a callback in this
  /// process, or an empty text. Returns the text of the lowest rank that has one, or an empty text.
  std::function<std::string(const std::string& error)> agree_on_error = {};
  /// Called after a failed run of a fit that goes on: returns a new plan and log.
  std::function<KeptTraining::Training()> respawn = {};
  /// The checkpoints of the fit; null if it writes none.
  std::shared_ptr<FitCheckpoints> checkpoints = nullptr;
  /// Called by the destructor of TrainingRun with the plan and the log of a fit that has succeeded.
  std::function<void(KeptTraining::Training)> on_release = {};
};

/// A fit in progress: one run of the plan after another, each at most an epoch long. The actors train on the threads of
/// the runtime. This object passes their metrics to the callbacks of FitOptions, and starts the runs. Call wait(), or,
/// on a thread that must not block, such as an actor's, call advance() after each callback of on_progress(). Not
/// thread-safe, except for stop().
class TrainingRun {
 public:
  /// Starts the first run, unless the options allow no step. `data` is the size of an epoch.
  TrainingRun(KeptTraining::Training training, EpochRows data, FitOptions options, TrainingProgress progress,
              std::chrono::milliseconds stall_limit, TrainingHooks hooks = {});
  /// If the fit is not over, waits for the end of the step and ends the run there. Gives the run up in a job of several
  /// processes, on a thread of the actors, or if it stalls for TrainerOptions::stall_limit, at most 10 s. The
  /// parameters may be broken then; see ParameterStore::recover(). Calls TrainingHooks::on_over if wait() has not.
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Sets the callback that asks for a call of advance(). It is called whenever a run is over, on any thread, perhaps
  /// before on_progress() returns. If an actor drives the fit, the callback should post a message to this actor.
  void on_progress(std::function<void()> callback);
  /// Calls the callbacks of FitOptions for the steps and epochs that have ended, and starts the next run. Returns true
  /// once the fit is over. Throws Error with the root cause if a step failed, or with a report if the run has stalled.
  /// If a callback of FitOptions threw, rethrows its exception once the run has ended. After an exception the fit is
  /// over. A stall is detected only in advance() and wait(), so call advance() from time to time even if on_progress()
  /// has not called back. After a stall, advance() waits up to 10 s for the actors to end, unless it is on one of their
  /// threads.
  bool advance();
  /// Ends the fit at the same step for all replicas. Thread-safe.
  void stop();
  /// Waits for the end of the fit and returns its result. Throws like advance().
  FitResult wait();

  bool over() const { return over_; }
  const FitResult& result() const { return metrics_.result(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// The position after a run, and whether the run has completed its epoch.
  struct EndedRun {
    TrainingPosition last;
    bool complete;
  };

  std::shared_ptr<StepBoundaries> drive();
  bool epoch_complete() const;
  bool more_steps() const;
  bool stopping() const;
  bool is_stop_requested() const;
  void expect_finite() const;
  void start_epoch();
  void start_run();
  void write_checkpoint();
  void end_fit();
  void end_boundary();
  bool finish_run();
  void exchange_values();
  EndedRun leave_run();
  bool store_position();
  void go_on(const EndedRun& ended, bool goes_on);
  bool source_is_used_up();
  void finish_epoch(const EndedRun& ended);
  void end_at_boundary();
  void end_open_run();
  void end_early();
  void note_no_exchange();
  [[noreturn]] void end_by_exception();
  bool has_invalid_sample() const;
  bool is_left_out(const StepMetrics& step) const;
  bool leaves_out(const Failure& failure);
  void end_failed_run();
  bool has_passed(std::int64_t step) const;
  void pass_batch(std::int64_t step);
  void respawn();
  void note_position();
  void note_steps(std::chrono::milliseconds limit = {});
  void note_last_steps();
  void note_reports_of_all();
  void await_reports(const std::function<void()>& check);
  void expect_all_steps() const;
  void call_on_over(bool succeeded);
  void report();
  void report_in_run();

  std::shared_ptr<SpawnedPlan> plan_;
  RunningPlan running_;  // plan_, for other threads
  std::unique_ptr<MetricsLog> log_;
  FitOptions options_;
  TrainedParameters trained_;
  std::chrono::milliseconds stall_limit_;
  TrainingHooks hooks_;
  EpochProgress progress_;
  std::int64_t steps_requested_ = 0;  // steps that the run may make at most
  bool source_ended_ = false;         // the run made fewer steps because the source of batches had ended the epoch
  std::optional<std::int64_t> updates_before_;
  bool exchanged_ = true;     // false while a run has begun for which on_run_end has not returned
  bool in_run_ = false;       // true while a run has begun whose position is not in the store
  std::exception_ptr error_;  // exception with which the fit ends
  std::vector<StepMetrics> unreported_;
  std::function<void()> on_progress_;
  Staleness staleness_before_;  // counted by the logs of earlier plans
  FitMetrics metrics_;
  std::int64_t epochs_ = 0;
  std::atomic<bool> stop_wanted_{false};
  bool stopped_ = false;  // the last run was stopped
  // Another thread has asked for the step boundary at which the last run ended. The beginning of the fit is one, too.
  bool interrupted_ = true;
  std::shared_ptr<StepBoundaries> boundaries_;  // null if the fit is recorded, replayed or over; destroyed before plan_
  bool over_ = false;
};

}  // namespace troupe
