#include "troupe/actors/control/progress_watch.hpp"

#include <algorithm>

namespace troupe {

void ProgressWatch::begin(const std::vector<const ExecutorStatus*>& statuses) {
  executors_.clear();
  for (const auto* status : statuses) executors_.push_back({status});
}

void ProgressWatch::Progress::note_task(Clock::time_point now) {
  const auto* task = status->running.load(std::memory_order_relaxed);
  // A task that waits for an event is continued now and then. It counts as running only if every look finds it so.
  const bool is_same = running_since && task == running && *since < now;
  running = task;
  if (!is_same) running_since = task != nullptr ? std::optional(now) : std::nullopt;
}

std::optional<std::string> ProgressWatch::stalled(std::chrono::milliseconds limit, Clock::time_point now) {
  // While an executor waits for an event outside the plan, all others may wait for that executor, so none has stalled.
  const bool waits_outside = std::ranges::any_of(executors_, [](const Progress& executor) {
    return executor.status->waits_outside.load(std::memory_order_relaxed);
  });
  const ExecutorStatus* stalled = nullptr;
  bool any_moved = false;
  for (auto& executor : executors_) {
    const auto* status = executor.status;
    const auto fired = status->firings.load(std::memory_order_relaxed);
    const bool has_finished = status->finished.load(std::memory_order_relaxed);
    if (!executor.since || waits_outside || fired != executor.firings || has_finished != executor.finished) {
      executor.firings = fired;
      executor.finished = has_finished;
      executor.since = now;
    }
    executor.note_task(now);
    const bool moved = now - *executor.since <= limit;
    any_moved = any_moved || moved;
    if (stalled == nullptr && status->watched.load(std::memory_order_relaxed) && !has_finished && !moved)
      stalled = status;
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
  for (const auto& executor : executors_)
    if (const auto& since = executor.running_since; since && (!longest || *since < longest->since))
      longest = {*executor.running, *since};
  return longest;
}

}  // namespace troupe
