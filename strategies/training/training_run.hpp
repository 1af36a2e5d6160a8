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

#include "troupe/actors/shard/staleness.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

class MetricsLog;
class SpawnedPlan;

/// What a fit did of one epoch, at its end or when the fit was stopped.
struct EpochMetrics {
  std::int64_t epoch = 0;  ///< from 0
  Metrics training;
  double seconds = 0.0;  ///< of training alone
  bool complete = true;  ///< the last batch of the epoch was among them
};

struct FitOptions {
  /// Epochs to train. The rest of an epoch in which the last fit on this data was stopped counts as one.
  std::int64_t epochs = 1;
  /// Stop after this number of steps of this fit.
  std::optional<std::int64_t> max_steps = {};
  /// Called in order, about ten times a second for all steps since, while training goes on: to end a fit at an exact
  /// step, use max_steps. It must not use the trainer or its parameters, which are written meanwhile. Like on_epoch, it
  /// is called on the thread that waits for or advances the run; if one of them throws, the run is ended in order and
  /// the exception is passed on.
  std::function<void(const StepMetrics&)> on_step = {};
  /// Called between two epochs, when the trainer may be used: to evaluate, or for another fit, after which this one
  /// goes on where that ended.
  std::function<void(const EpochMetrics&)> on_epoch = {};
  /// Every so many steps of this fit, training pauses and on_pause is called, with the means of the steps since the
  /// last pause, when the trainer may be used as in on_epoch. The steps are those of a fit without pauses, to the bit.
  std::optional<std::int64_t> pause_every = {};
  std::function<void(const Metrics&)> on_pause = {};
  /// Asked about ten times a second, and after on_epoch and on_pause; true ends the fit at a step that is the same for
  /// all replicas.
  std::function<bool()> stop_requested = {};
  /// Whether the fit ends at a step whose loss is not finite, with an Error, or goes on. Either way that step makes no
  /// update. A few steps after it may have been made when the run ends.
  NonFiniteLoss on_non_finite_loss = NonFiniteLoss::stop;
  /// Of a strategy with shards: the file into which process 0 writes the order in which they did things; see Recording.
  /// Nothing is written if the fit fails.
  std::string record = {};
  /// Such a file: the fit comes to the bits of the one that was recorded. Every process that has shards reads it.
  std::string replay = {};
};

/// What a fit did.
struct FitResult {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  double seconds = 0.0;  ///< of training alone
  bool stopped = false;  ///< by stop_requested or stop()
  std::vector<EpochMetrics> epochs;
  Staleness staleness;  ///< of the gradients of its steps
};

/// The rows of an epoch's data; kUnknown: they come from an actor, which says when an epoch ends.
struct EpochRows {
  static constexpr std::int64_t kUnknown = -1;

  std::int64_t rows = 0;
  std::int64_t batch_rows = 1;
  std::int64_t layout = 0;  ///< ShardLayout::hash()
};

/// What a trainer does at the ends of things.
struct TrainingHooks {
  /// A run has ended well, and nobody has been told yet.
  std::function<void(const Plan&)> on_run_end = {};
  /// The fit is over, well or not; once.
  std::function<void(const FitResult&, bool well)> on_over = {};
};

/// A fit in progress. The actors train on their own threads; this delivers their metrics to the callbacks, and starts
/// one epoch after the other. Either wait() for its end, or call advance() when on_progress() says so, as an actor does
/// that must not wait. Not thread-safe, except for stop().
class TrainingRun {
 public:
  /// `data` says how many rows an epoch and a batch have.
  TrainingRun(std::unique_ptr<SpawnedPlan> plan, std::unique_ptr<MetricsLog> log, EpochRows data, FitOptions options,
              std::shared_ptr<ParameterStore> store, std::chrono::milliseconds stall_limit, TrainingHooks hooks = {});
  /// Ends a run that is in progress here and now: its parameters may be left broken.
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Calls back, on any thread and perhaps before this returns, whenever advance() has something to do beyond reporting
  /// steps: post a message to yourself from there.
  void on_progress(std::function<void()> callback);
  /// Calls the callbacks for what has happened, and starts the next epoch when one is over. True once the fit is
  /// over. Throws Error with the root cause if a step failed, or with a report if the run has stalled, and what a
  /// callback threw once the run has ended in order; after an exception the fit is over. A stall is noticed here only,
  /// so call it now and then also when nothing happens.
  bool advance();
  /// Ends the fit at a step that is the same for all replicas.
  void stop();
  /// Waits for the end. Throws like advance().
  FitResult wait();

  bool over() const { return over_; }
  const FitResult& result() const { return result_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool epoch_complete() const;
  bool more_epochs() const;
  bool stopping() const;
  void resume_position();
  void begin_epoch(std::int64_t epoch);
  void start_epoch();
  void start_run();
  bool pause_due() const;
  std::optional<std::int64_t> updates() const;
  bool finish_run();
  bool source_is_used_up();
  bool go_on_behind_epoch();
  void finish_epoch(const TrainingPosition& last, bool complete);
  void end_early();
  void note_steps(std::chrono::milliseconds limit = {});
  void note_last_steps();
  void tell_over(bool well);
  void report();

  std::unique_ptr<SpawnedPlan> plan_;
  std::unique_ptr<MetricsLog> log_;
  FitOptions options_;
  std::shared_ptr<ParameterStore> store_;
  std::chrono::milliseconds stall_limit_;
  TrainingHooks hooks_;
  EpochRows data_;
  TrainingPosition position_;
  TrainingPosition begin_;        // of this epoch's run
  std::int64_t steps_asked_ = 0;  // of its run
  bool source_ended_ = false;     // its run had fewer: the source had no more
  std::optional<std::int64_t> updates_before_;
  bool in_epoch_ = false;     // between the start of its run and the note of its end in the store
  std::exception_ptr error_;  // of a callback, while the run comes to its end
  std::vector<StepMetrics> unreported_;
  FitResult result_;
  MetricsSum epoch_;
  MetricsSum since_pause_;
  std::int64_t steps_since_pause_ = 0;
  std::int64_t epochs_ = 0;
  double epoch_seconds_ = 0.0;
  Clock::time_point run_begin_;
  std::atomic<bool> stop_wanted_{false};
  bool stopped_ = false;  // the last run
  bool over_ = false;
};

}  // namespace troupe
