#include "troupe/actors/messages/run_status.hpp"

#include <algorithm>

namespace troupe {

void StallReport::add(const std::string& executor, const std::vector<std::string>& lines) {
  std::lock_guard lock(mutex_);
  for (const auto& line : lines) lines_.push_back({executor, line});
  added_.notify_all();
}

void StallReport::complete(const std::vector<const ExecutorStatus*>& statuses, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  added_.wait_for(lock, limit, [&] {
    return std::ranges::all_of(statuses, [&](const ExecutorStatus* status) { return has(status->name); });
  });
  for (const auto* status : statuses) {
    if (has(status->name)) continue;
    const auto* running = status->running.load(std::memory_order_relaxed);
    const auto state = running != nullptr ? "is busy in '" + *running + "'" : "does not answer";
    lines_.push_back({status->name, "'" + status->name + "' " + state});
  }
}

bool StallReport::has(const std::string& executor) const {
  return std::ranges::find(lines_, executor, &Line::executor) != lines_.end();
}

std::string StallReport::text() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& line : lines_) text += "\n  " + line.text;
  return text;
}

}  // namespace troupe
