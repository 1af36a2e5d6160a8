#include "troupe/actors/control/progress_watch.hpp"

#include <algorithm>

namespace troupe {

void ProgressWatch::begin(const std::vector<const ExecutorStatus*>& statuses) {
  executors_.clear();
  for (const auto* status : statuses) executors_.push_back({status});
}

std::optional<std::string> ProgressWatch::stalled(std::chrono::milliseconds limit, Clock::time_point now) {
  // While an executor waits for an event outside the plan, all others may wait for that executor, so none has stalled.
  const bool waits_outside = std::ranges::any_of(executors_, [](const Progress& executor) {
    return executor.status->waits_outside.load(std::memory_order_relaxed);
  });
  const ExecutorStatus* stalled = nullptr;
  bool any_moved = false;
  for (auto& [status, firings, finished, since] : executors_) {
    const auto fired = status->firings.load(std::memory_order_relaxed);
    const bool has_finished = status->finished.load(std::memory_order_relaxed);
    if (!since || waits_outside || fired != firings || has_finished != finished) {
      firings = fired;
      finished = has_finished;
      since = now;
    }
    const bool moved = now - *since <= limit;
    any_moved = any_moved || moved;
    if (stalled == nullptr && status->watched.load(std::memory_order_relaxed) && !finished && !moved) stalled = status;
  }
  // No executor that is watched (ExecutorStatus::watched) has a firing due: the run has not begun, or only actors of
  // the user and proxies of other processes have not finished it. The run has stalled if no executor has moved within
  // the limit. The first executor that has not finished the run is then named, or the first one if all have.
  if (stalled == nullptr && !any_moved && !executors_.empty()) {
    const auto unfinished =
        std::ranges::find_if(executors_, [](const Progress& executor) { return !executor.finished; });
    stalled = (unfinished == executors_.end() ? executors_.front() : *unfinished).status;
  }
  return stalled == nullptr ? std::nullopt : std::optional(stalled->name);
}

std::optional<ProgressWatch::Running> ProgressWatch::longest_running() const {
  std::optional<Running> longest;
  for (const auto& [status, firings, finished, since] : executors_) {
    const auto* task = status->running.load(std::memory_order_relaxed);
    if (task != nullptr && since && (!longest || *since < longest->since)) longest = {*task, *since};
  }
  return longest;
}

}  // namespace troupe
