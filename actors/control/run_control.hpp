#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <variant>

#include "troupe/actors/messages/messages.hpp"

namespace troupe {

enum class RunPhase { idle, running, done, failed };

/// The state of the last run, and its outcome once it is over.
struct RunEnd {
  RunPhase phase = RunPhase::idle;
  FailurePtr failure;
  bool drained = false;      ///< every actor has finished the run, with or without a failure
  bool stopped = false;      ///< the run was ended early by RunControl::stop() in some process
  bool interrupted = false;  ///< the run was ended early by RunControl::interrupt() in some process
};

/// The outcome of the run that was started last, for threads that wait for it. Thread-safe.
class RunOutcome {
 public:
  /// Begins a run. Throws Error if a run is in progress, if an earlier run has failed, or if further runs are
  /// forbidden.
  void begin();
  /// Notes the failure with which the run in progress will end as far as is known. Does nothing if no run is in
  /// progress.
  void note(const FailurePtr& failure);
  /// Ends the run in progress with this outcome and returns true. After close() returns false and does not end the run.
  /// If no run is in progress, returns false and keeps the outcome of the last run; a failure in `end` then forbids
  /// further runs.
  bool end(const RunEnd& end);
  /// Forbids further runs because of a failure; an earlier failure is kept. The last run keeps its outcome. Returns
  /// false if a failure forbade further runs before.
  bool forbid_runs(const FailurePtr& failure);
  /// Called when the plan is destroyed: end() returns false from now on, and the function set by on_over() is called no
  /// more once close() has returned. Returns false if close() was called before.
  bool close();

  RunEnd last() const;
  /// Returns the failure after which no run can follow: that of the last run, or a later one. Null if there is none.
  FailurePtr final_failure() const;
  bool running() const { return last().phase == RunPhase::running; }
  /// True if a failure changes nothing any more: after close(), or after a run that has failed.
  bool settled() const;
  /// Waits until no run is in progress, at most for `limit`. Returns whether none is in progress.
  bool wait_for(std::chrono::milliseconds limit) const;
  /// Sets the function that call_back() calls. Waits until a running call of the previous function has returned, unless
  /// that function itself calls on_over().
  void on_over(std::function<void()> callback);
  /// Calls the function set by on_over(), and drops its exceptions. Must be called after end() has returned true, with
  /// no lock held.
  void call_back();

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  RunEnd end_;
  FailurePtr forbidden_;
  bool closed_ = false;
  std::recursive_mutex callback_mutex_;
  std::function<void()> on_over_;
};

/// An order of the run control to a part of a plan. A part is all actors of the plan in one process.
using RunOrder = std::variant<PrepareRun, StartSources, PauseSources, RunUntil, AbortRun>;

/// Controls the runs of a plan. A plan has a part for each process, and each part has a supervisor. All parts are
/// prepared before the sources of any part start, and a stop or a failed step ends all sources at the same step. The
/// failure that is reported first is the root cause for all parts. The failure of an earlier step, which may be
/// reported later because loaders run ahead, takes its place while the run drains.
///
/// A run control has no handles to actors: a part joins with a function that posts orders to its supervisor, and the
/// supervisor calls the run control to report. Thread-safe.
class RunControl {
 public:
  using Phase = RunPhase;
  using Post = std::function<void(const RunOrder&)>;

  virtual ~RunControl() = default;

  /// Adds a part of this process. `post` posts an order to the supervisor of the part. Returns the number of the part.
  virtual int join(Post post, bool has_sources) = 0;
  /// Called when the supervisor of a part ends: the part gets no further orders.
  virtual void leave(int part) = 0;

  // ---- Orders of the SpawnedPlan, the owner of the plan's actors

  /// Starts a run. Throws Error if a run is in progress, if an earlier run has failed, or if further runs are
  /// forbidden.
  virtual void start(const RunInfo& run) = 0;
  /// Ends the run early, all sources at the same step. Does nothing if no run is in progress.
  virtual void stop() = 0;
  /// Ends the run early like stop(), for an owner that starts another run at once. In all processes the run counts as
  /// interrupted. If the run has not begun yet, its sources still begin the step for which they have data.
  virtual void interrupt() = 0;
  /// Ends the run in progress, if there is one, with this failure, without waiting for the actors. No run can follow,
  /// in no process. Does nothing after close() or a failed run.
  virtual void give_up(const FailurePtr& failure) = 0;
  /// Called when the plan is destroyed. Later reports of the plan's parts are ignored.
  virtual void close() = 0;

  // The state or outcome of the last run; see RunEnd.
  Phase phase() const { return outcome_.last().phase; }
  bool drained() const { return outcome_.last().drained; }
  bool stopped() const { return outcome_.last().stopped; }
  bool interrupted() const { return outcome_.last().interrupted; }
  FailurePtr failure() const { return outcome_.last().failure; }
  FailurePtr final_failure() const { return outcome_.final_failure(); }
  /// Whether the run in progress has begun for the parts of this process: rank 0 has ordered them to prepare for it.
  virtual bool has_begun() const { return true; }
  /// Processes that took no part in the last run, or left it before its end. Empty in ranks other than 0.
  virtual std::vector<int> absent() const { return {}; }
  /// Waits until no run is in progress, at most for `limit`. Returns whether none is in progress.
  bool wait_for(std::chrono::milliseconds limit) const { return outcome_.wait_for(limit); }
  /// Sets a function that is called, on any thread, when a run is over. Exceptions of the function are dropped. The
  /// function is not called any more once close() or another on_over() has returned.
  void on_over(std::function<void()> callback) { outcome_.on_over(std::move(callback)); }

  // ---- Reports of the parts

  /// Reports that all actors of the part are wired, that is connected along the edges of the plan.
  virtual void wired(int part) = 0;
  /// Reports that all actors of the part are prepared for the run, and that the sources of the part end before
  /// `end_step`.
  virtual void prepared(int part, std::int64_t end_step) = 0;
  virtual void paused(int part, std::uint64_t run, std::int64_t next_step) = 0;
  virtual void finished(int part) = 0;
  /// Reports that a step has failed. The sources of all parts end at the same step, and the run ends when all actors
  /// have finished it, with the failure of the earliest step.
  virtual void failed(const FailurePtr& failure) = 0;

 protected:
  RunOutcome outcome_;
};

}  // namespace troupe
