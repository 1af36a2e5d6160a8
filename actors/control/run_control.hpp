#pragma once

#include <variant>

#include "troupe/actors/control/run_outcome.hpp"
#include "troupe/actors/messages/messages.hpp"

namespace troupe {

/// Orders of the run control to the parts of a plan.
using RunOrder = std::variant<PrepareRun, StartSources, PauseSources, RunUntil, AbortRun>;

/// Stands above the supervisors of all parts of a plan, wherever they live: all are prepared before any starts, a stop
/// or a failure ends all of them at the same step, and the first failure is the root cause for all.
///
/// It knows no actors: parts join with a function that posts orders to them, and report by calling. Thread-safe.
class RunControl {
 public:
  using Phase = RunPhase;
  using Post = std::function<void(const RunOrder&)>;

  virtual ~RunControl() = default;

  /// A part of this process reports for the first time. Returns its number.
  virtual int join(Post post, bool has_sources) = 0;
  /// The part goes: nothing is decided for it any more.
  virtual void leave(int part) = 0;

  // What the owner of the plan orders.

  /// Throws Error if a run is in progress or an earlier one failed.
  virtual void start(const RunInfo& run) = 0;
  /// Ends the run early, all sources at the same step. Nothing if no run is in progress.
  virtual void stop() = 0;
  /// Ends the run here and now; none can follow.
  virtual void give_up(const FailurePtr& failure) = 0;
  /// The plan goes: whatever its parts still report is ignored.
  virtual void close() = 0;

  Phase phase() const { return outcome_.last().phase; }
  /// The last run has ended and every actor has finished, with or without a failure.
  bool drained() const { return outcome_.last().drained; }
  /// The last run was ended early by stop(), whoever called it.
  bool stopped() const { return outcome_.last().stopped; }
  FailurePtr failure() const { return outcome_.last().failure; }
  /// Processes that took no part in the last run, or not to its end. Known in the process of the first part.
  virtual std::vector<int> absent() const { return {}; }
  /// Waits until the run is over, at most for `limit`. True if it is over.
  bool wait_for(std::chrono::milliseconds limit) const { return outcome_.wait_for(limit); }
  /// Called on any thread when a run is over. What it throws is dropped. It is not called any more once close() or
  /// another on_over() has returned.
  void on_over(std::function<void()> callback) { outcome_.on_over(std::move(callback)); }

  // What the parts report.

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
