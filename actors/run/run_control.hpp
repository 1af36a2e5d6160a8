#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <variant>
#include <vector>

#include "troupe/actors/run/messages.hpp"

namespace troupe {

/// Orders of the run control to the parts of a plan.
using RunOrder = std::variant<PrepareRun, StartSources, PauseSources, RunUntil, AbortRun>;

/// Stands above the supervisors of all parts of a plan, wherever they live: all are prepared before any starts, a stop
/// or a failure ends all of them at the same step, and the first failure is the root cause for all.
///
/// It knows no actors: parts join with a function that posts orders to them, and report by calling. Thread-safe; orders
/// are posted under its lock, so posting must not call back.
class RunControl {
 public:
  enum class Phase { idle, running, done, failed };
  using Post = std::function<void(const RunOrder&)>;

  /// A part reports for the first time. Returns its number.
  int join(Post post, bool has_sources);
  /// The part goes; nothing is posted to it any more.
  void leave(int part);

  // What the owner of the plan orders.

  /// Throws Error if a run is in progress or an earlier one failed.
  void start(const RunInfo& run);
  /// Ends the run early, all sources at the same step. Nothing if no run is in progress.
  void stop();
  /// Ends the run here and now; none can follow.
  void give_up(const FailurePtr& failure);

  /// The plan goes: whatever its parts still report is ignored.
  void close();

  Phase phase() const;
  /// The last run has ended and every actor has finished, with or without a failure.
  bool drained() const;
  FailurePtr failure() const;
  /// Waits until the run is over, at most for `limit`. True if it is over.
  bool wait_for(std::chrono::milliseconds limit);
  /// Called on any thread when a run is over. What it throws is dropped. It is not called any more once close() or
  /// another on_over() has returned.
  void on_over(std::function<void()> callback);

  // What the parts report.

  /// All actors of the part are wired.
  void wired(int part);
  /// All actors of the part are prepared for the run, and its sources end before `end_step`.
  void prepared(int part, std::int64_t end_step);
  void paused(int part, std::uint64_t run, std::int64_t next_step);
  void finished(int part);
  /// A step failed; the run drains and ends.
  void failed(const FailurePtr& failure);

 private:
  struct Part {
    Post post;
    bool has_sources = false;
    bool wired = false;
    bool reported = false;  // to the order that is being carried out
  };
  /// Notes a report. True if it was the last of those awaited.
  bool all_reported(int part, bool sources_only = false);
  void await_reports();
  void post(const RunOrder& order, bool sources_only = false);
  void prepare_if_wired();
  void pause_sources();
  void finish(Phase phase, std::unique_lock<std::mutex>& lock);

  std::recursive_mutex callback_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  std::function<void()> on_over_;
  Phase phase_ = Phase::idle;
  FailurePtr failure_;
  PrepareRun order_;
  bool preparing_ = false;
  bool started_ = false;
  bool stop_wanted_ = false;
  bool pausing_ = false;
  std::int64_t end_step_ = 0;
  std::int64_t furthest_step_ = 0;
  std::set<int> finished_;
  bool closed_ = false;
  bool drained_ = false;
};

}  // namespace troupe
