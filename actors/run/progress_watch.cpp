#include "troupe/actors/run/progress_watch.hpp"

#include <algorithm>

namespace troupe {

std::optional<std::string> ProgressWatch::stalled(const std::vector<const ExecutorStatus*>& statuses,
                                                  std::chrono::milliseconds limit, Clock::time_point now) {
  // While an actor waits for the world outside, so may all others.
  const bool waits_outside = std::any_of(statuses.begin(), statuses.end(), [](const ExecutorStatus* status) {
    return status->waits_outside.load(std::memory_order_relaxed);
  });
  std::optional<std::string> stalled;
  bool any_moved = false;
  for (const auto* status : statuses) {
    const Seen current{status->firings.load(std::memory_order_relaxed),
                       status->finished.load(std::memory_order_relaxed), now};
    const auto [entry, is_new] = seen_.try_emplace(status, current);
    auto& seen = entry->second;
    const bool moved = is_new || waits_outside || current.firings != seen.firings || current.finished != seen.finished;
    if (moved) seen = current;
    any_moved = any_moved || now - seen.since <= limit;
    if (!stalled && status->watched.load(std::memory_order_relaxed) && !current.finished && now - seen.since > limit)
      stalled = status->name;
  }
  // Nobody is watched and nobody moves: the run has stalled before it began.
  if (!stalled && !any_moved && !statuses.empty()) stalled = statuses.front()->name;
  return stalled;
}

}  // namespace troupe
