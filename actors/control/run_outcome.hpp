#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/threads/over_callback.hpp"

namespace troupe {

enum class RunPhase { idle, running, done, failed };

/// The end of a run.
struct RunEnd {
  RunPhase phase = RunPhase::idle;
  FailurePtr failure;
  bool drained = false;  ///< every actor has finished, with or without a failure
  bool stopped = false;  ///< the run was ended early by a stop
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
  void on_over(std::function<void()> callback) { on_over_.set(std::move(callback)); }
  /// Calls the function that on_over() was given. To be called after end(), with no lock held.
  void call_back() { on_over_.call(); }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  RunEnd end_;
  FailurePtr forbidden_;
  bool closed_ = false;
  OverCallback on_over_;
};

}  // namespace troupe
