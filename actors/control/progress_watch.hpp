#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/messages/run_status.hpp"

namespace troupe {

/// Finds, from outside the actors' threads, an executor that makes no progress: it completes no firing although its run
/// is not over. Each executor is watched by itself, so that a live one does not hide a dead one.
class ProgressWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// A run of these executors begins. Their statuses must exist until the next run or the end of this object.
  void begin(const std::vector<const ExecutorStatus*>& statuses);
  /// The first executor that has completed no firing for `limit`, as far as the calls since begin() have seen.
  /// Allocates nothing while no executor has stalled.
  std::optional<std::string> stalled(std::chrono::milliseconds limit, Clock::time_point now = Clock::now());

 private:
  /// The progress of an executor at the last call that saw any; no time before the first call.
  struct Progress {
    const ExecutorStatus* status;
    std::uint64_t firings = 0;
    bool finished = false;
    std::optional<Clock::time_point> since = {};
  };
  std::vector<Progress> executors_;
};

}  // namespace troupe
