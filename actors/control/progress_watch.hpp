#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/messages/run_status.hpp"

namespace troupe {

/// Finds, from outside the actors' threads, an executor that has stalled: it completes no firing although the run is
/// not over. Each executor is watched separately, so that a live one does not hide a dead one.
class ProgressWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins to watch a run of these executors. Their statuses must exist until the next begin() or the end of this
  /// object.
  void begin(const std::vector<const ExecutorStatus*>& statuses);
  /// Returns the name of the first executor that has completed no firing for more than `limit`, measured by the calls
  /// since begin(). Nothing while an executor waits for an event outside the plan. Allocates no memory while no
  /// executor has stalled.
  std::optional<std::string> stalled(std::chrono::milliseconds limit, Clock::time_point now = Clock::now());

 private:
  /// The progress of an executor, and the time `since` of the last call of stalled() that saw a change of it. No time
  /// before the first call.
  struct Progress {
    const ExecutorStatus* status;
    std::uint64_t firings = 0;
    bool finished = false;
    std::optional<Clock::time_point> since = {};
  };
  std::vector<Progress> executors_;
};

}  // namespace troupe
