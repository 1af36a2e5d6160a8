#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/run/run_status.hpp"

namespace troupe {

/// Looks, from outside the actors' threads, for one that makes no progress: completes no firing although its run is not
/// over. Actors are looked at one by one, so that a live one does not hide a dead one.
class ProgressWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// A run begins.
  void begin() { seen_.clear(); }
  /// The first executor that has completed no firing for `limit`, as far as the calls since begin() have seen.
  std::optional<std::string> stalled(const std::vector<const ExecutorStatus*>& statuses,
                                     std::chrono::milliseconds limit, Clock::time_point now = Clock::now());

 private:
  struct Seen {
    std::uint64_t firings = 0;
    bool finished = false;
    Clock::time_point since;
  };
  std::map<const ExecutorStatus*, Seen> seen_;
};

}  // namespace troupe
