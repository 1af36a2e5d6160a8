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

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

class MetricsLog;
class SpawnedPlan;

/// The steps of a fit in one epoch.
struct EpochMetrics {
  std::int64_t epoch = 0;  ///< from 0
  Metrics training;
  double seconds = 0.0;  ///< time of training alone
  bool complete = true;  ///< false if the fit was stopped before the last batch of the epoch
};

struct FitOptions {
  /// Number of epochs. The rest of an epoch in which the last fit on this data was stopped counts as one.
  std::int64_t epochs = 1;
  /// The fit stops after this number of its steps.
  std::optional<std::int64_t> max_steps = {};
  /// Called for every step in order, about ten times a second for all steps since then, while training goes on. To end
  /// a fit at an exact step, use max_steps. It must not use the trainer or its parameters, which are being written. All
  /// callbacks run on the thread that waits for or advances the run. If one throws, the run is ended in order and the
  /// exception is passed on.
  std::function<void(const StepMetrics&)> on_step = {};
  /// Called between two epochs. It may use the trainer, for example to evaluate. After another fit, this one goes on
  /// where that fit ended.
  std::function<void(const EpochMetrics&)> on_epoch = {};
  /// After every `pause_every` steps of this fit, training pauses and on_pause is called with the means of the steps
  /// since the last pause. It may use the trainer like on_epoch. Pauses change no bit of the steps.
  std::optional<std::int64_t> pause_every = {};
  std::function<void(const Metrics&)> on_pause = {};
  /// Called about ten times a second, and after on_epoch and on_pause. True ends the fit at the same step for all
  /// replicas.
  std::function<bool()> stop_requested = {};
  /// Whether a step whose loss is not finite ends the fit with an Error, or is skipped. In both cases it makes no
  /// update. A few later steps may have been made when the run ends.
  NonFiniteLoss on_non_finite_loss = NonFiniteLoss::stop;
  /// For a strategy with shards: the file to which rank 0 writes the order of their events; see Recording. Nothing is
  /// written if the fit fails.
  std::string record = {};
  /// A recorded file: the fit repeats the recorded one to the bit. Every process with shards reads the file.
  std::string replay = {};
};

/// The result of a fit.
struct FitResult {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  double seconds = 0.0;  ///< time of training alone
  bool stopped = false;  ///< stop_requested or stop() ended the fit
  std::vector<EpochMetrics> epochs;
  Staleness staleness;  ///< staleness of the gradients of its steps
};

/// The rows of an epoch's data. kUnknown: the batches come from an actor, which decides when an epoch ends.
struct EpochRows {
  static constexpr std::int64_t kUnknown = -1;

  std::int64_t rows = 0;
  std::int64_t batch_rows = 1;
  std::int64_t layout = 0;  ///< ShardLayout::hash()
};

/// The trainer's work at the end of runs and of the fit.
struct TrainingHooks {
  /// Called when a run has succeeded, before its end is reported.
  std::function<void(const Plan&)> on_run_end = {};
  /// Called once when the fit is over, whether it has succeeded or not.
  std::function<void(const FitResult&, bool succeeded)> on_over = {};
};

/// A fit in progress. The actors train on their own threads. This object passes their metrics to the callbacks, and
/// starts one epoch after the other. Either call wait(), or call advance() after each callback of on_progress(), as an
/// actor does, which must not wait. Not thread-safe, except for stop().
class TrainingRun {
 public:
  /// `data` has the rows of an epoch and of a batch.
  TrainingRun(std::unique_ptr<SpawnedPlan> plan, std::unique_ptr<MetricsLog> log, EpochRows data, FitOptions options,
              std::shared_ptr<ParameterStore> store, std::chrono::milliseconds stall_limit, TrainingHooks hooks = {});
  /// Ends a run that is in progress at once. Its parameters may be left broken.
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Sets the callback for every time that advance() has more to do than to report steps. It is called on any thread,
  /// perhaps before this function returns. An actor posts a message to itself in it.
  void on_progress(std::function<void()> callback);
  /// Calls the callbacks of the options for the steps and epochs that have ended, and starts the next epoch. Returns
  /// true once the fit is over. Throws Error with the root cause if a step failed, or with a report if the run has
  /// stalled. Rethrows the exception of a callback once the run has ended in order. After an exception the fit is over.
  /// Stalls are detected only here, so call it now and then even without a callback.
  bool advance();
  /// Ends the fit at the same step for all replicas.
  void stop();
  /// Waits for the end. Throws like advance().
  FitResult wait();

  bool over() const { return over_; }
  const FitResult& result() const { return result_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool epoch_complete() const;
  bool more_steps() const;
  bool stopping() const;
  bool is_stop_requested() const;
  void resume_position();
  void begin_epoch(std::int64_t epoch);
  void start_epoch();
  void start_run();
  std::optional<std::int64_t> updates() const;
  bool finish_run();
  bool source_is_used_up();
  void finish_epoch(const TrainingPosition& last, bool complete);
  void end_early();
  void note_steps(std::chrono::milliseconds limit = {});
  void note_last_steps();
  void call_on_over(bool succeeded);
  void report();

  std::unique_ptr<SpawnedPlan> plan_;
  std::unique_ptr<MetricsLog> log_;
  FitOptions options_;
  std::shared_ptr<ParameterStore> store_;
  std::chrono::milliseconds stall_limit_;
  TrainingHooks hooks_;
  EpochRows data_;
  TrainingPosition position_;
  TrainingPosition begin_;            // position at the begin of the run
  std::int64_t steps_requested_ = 0;  // steps requested of the run
  bool source_ended_ = false;         // the run had fewer steps because the source had ended
  std::optional<std::int64_t> updates_before_;
  bool in_run_ = false;       // true from the start of a run until its position is in the store
  std::exception_ptr error_;  // exception of a callback, kept until the run has ended
  std::vector<StepMetrics> unreported_;
  FitResult result_;
  MetricsSum epoch_;
  MetricsSum since_pause_;
  std::int64_t steps_since_pause_ = 0;
  std::int64_t epochs_ = 0;
  double epoch_seconds_ = 0.0;
  Clock::time_point run_begin_;
  std::atomic<bool> stop_wanted_{false};
  bool stopped_ = false;  // the last run was stopped
  bool over_ = false;
};

}  // namespace troupe
