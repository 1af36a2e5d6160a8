#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <variant>

#include "troupe/actors/messages/messages.hpp"

namespace troupe {

enum class RunPhase { idle, running, done, failed };

/// The end of a run.
struct RunEnd {
  RunPhase phase = RunPhase::idle;
  FailurePtr failure;
  bool drained = false;  ///< every actor has finished, with or without a failure
  bool stopped = false;  ///< the run was ended early by a stop, in any process
};

/// The outcome of the run that was started last, for threads that wait for it. Thread-safe.
class RunOutcome {
 public:
  /// A run begins. Throws Error if a run is in progress, or if none can follow a failure.
  void begin();
  /// A failure has happened, because of which the run is about to end. The first failure counts.
  void note(const FailurePtr& failure);
  /// The run has ended. False if no run is in progress: the last run stays as it ended, and after a failure none can
  /// follow. False, too, after close().
  bool end(const RunEnd& end);
  /// Forbids further runs. A run that has ended well stays so. The first failure counts.
  void forbid_runs(const FailurePtr& failure);
  /// The plan is destroyed: no run ends any more, and no callback is called. False if this was called before.
  bool close();

  RunEnd last() const;
  bool running() const { return last().phase == RunPhase::running; }
  /// True if a failure changes nothing any more: after close(), or after a run that has failed.
  bool settled() const;
  /// Waits until no run is in progress, at most for `limit`. True if none is.
  bool wait_for(std::chrono::milliseconds limit) const;
  /// Returns when a call of the callback before is over, unless it is called in that callback.
  void on_over(std::function<void()> callback);
  /// Calls the function that on_over() was given. To be called after end(), with no lock held.
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

/// An order of the run control to the parts of a plan.
using RunOrder = std::variant<PrepareRun, StartSources, PauseSources, RunUntil, AbortRun>;

/// Controls the supervisors of all parts of a plan, wherever they live. All parts are prepared before any starts, a
/// stop or a failure ends all of them at the same step, and the first failure is the root cause for all.
///
/// A run control knows no actors: a part joins with a function that posts orders to it, and calls the run control to
/// report. Thread-safe.
class RunControl {
 public:
  using Phase = RunPhase;
  using Post = std::function<void(const RunOrder&)>;

  virtual ~RunControl() = default;

  /// A part of this process joins. Returns its number.
  virtual int join(Post post, bool has_sources) = 0;
  /// The part leaves: it gets no further orders.
  virtual void leave(int part) = 0;

  // ---- Orders of the plan's owner

  /// Starts a run. Throws Error if a run is in progress or an earlier one failed.
  virtual void start(const RunInfo& run) = 0;
  /// Ends the run early, all sources at the same step. Does nothing if no run is in progress.
  virtual void stop() = 0;
  /// Ends the run at once; no run can follow.
  virtual void give_up(const FailurePtr& failure) = 0;
  /// Ends the control of a plan that is destroyed: later reports of its parts are ignored.
  virtual void close() = 0;

  // The last run, see RunEnd.
  Phase phase() const { return outcome_.last().phase; }
  bool drained() const { return outcome_.last().drained; }
  bool stopped() const { return outcome_.last().stopped; }
  FailurePtr failure() const { return outcome_.last().failure; }
  /// Processes that took no part in the last run, or not to its end. Known in rank 0.
  virtual std::vector<int> absent() const { return {}; }
  /// Waits until the run is over, at most for `limit`. True if it is over.
  bool wait_for(std::chrono::milliseconds limit) const { return outcome_.wait_for(limit); }
  /// Sets a function that is called on any thread when a run is over. Its exceptions are dropped. It is not called any
  /// more once close() or another on_over() has returned.
  void on_over(std::function<void()> callback) { outcome_.on_over(std::move(callback)); }

  // ---- Reports of the parts

  /// All actors of the part are wired.
  virtual void wired(int part) = 0;
  /// All actors of the part are prepared for the run, and its sources end before `end_step`.
  virtual void prepared(int part, std::int64_t end_step) = 0;
  virtual void paused(int part, std::uint64_t run, std::int64_t next_step) = 0;
  virtual void finished(int part) = 0;
  /// A step failed; the run drains and ends.
  virtual void failed(const FailurePtr& failure) = 0;

 protected:
  RunOutcome outcome_;
};

}  // namespace troupe
