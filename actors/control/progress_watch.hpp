#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/messages/run_status.hpp"

namespace troupe {

/// Finds, from outside the actors' threads, an executor that has stalled: it completes no firing although the run is
/// not over. An executor is any actor of a plan, see ExecutorStatus. Each executor is watched separately, so that a
/// live one does not hide a dead one.
class ProgressWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins to watch a run of these executors. Their statuses must exist until the next begin() or the end of this
  /// object.
  void begin(const std::vector<const ExecutorStatus*>& statuses);
  /// Returns the name of the first executor that is watched (ExecutorStatus::watched), has not finished the run, and
  /// has completed no firing for more than `limit`. If there is none, but no executor at all has moved for that long,
  /// returns the name of the first one that has not finished the run, or of the first one if all have. Otherwise
  /// returns nothing. Progress is noticed only by calls of this function: the time of an executor begins at the first
  /// call after begin(), and anew at each call while some executor waits for an event outside the plan. Allocates no
  /// memory unless an executor has stalled.
  std::optional<std::string> stalled(std::chrono::milliseconds limit, Clock::time_point now = Clock::now());
  /// The task that an executor has been running for longest without a return, and the time of the first call of
  /// stalled() that has found it running. The last call counts: nothing if it has found no task running.
  struct Running {
    std::string task;
    Clock::time_point since;
  };
  std::optional<Running> longest_running() const;

 private:
  /// The progress of an executor as stalled() last saw it. `since` is the time of the last call of stalled() that was
  /// the first one, found the progress changed, or found an executor that waits outside the plan. It is empty before
  /// the first call. `running_since` is the same for the task that runs and its call; it is empty between tasks.
  struct Progress {
    const ExecutorStatus* status;
    std::uint64_t firings = 0;
    bool finished = false;
    std::optional<Clock::time_point> since = {};
    const std::string* running = nullptr;
    std::optional<Clock::time_point> running_since = {};

    void note_task(Clock::time_point now);
  };
  std::vector<Progress> executors_;
};

}  // namespace troupe
