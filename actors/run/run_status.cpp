#include "troupe/actors/run/run_status.hpp"

#include <algorithm>

namespace troupe {

void StallReport::add(const std::string& executor, const std::vector<std::string>& lines) {
  std::lock_guard lock(mutex_);
  for (const auto& line : lines) lines_.push_back({executor, line});
  added_.notify_all();
}

void StallReport::wait_until(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition() && std::chrono::steady_clock::now() < deadline) {
    // The condition takes the lock itself; a line added meanwhile is seen at the next look.
    std::unique_lock lock(mutex_);
    added_.wait_for(lock, std::chrono::milliseconds(5));
  }
}

bool StallReport::has(const std::string& executor) const {
  std::lock_guard lock(mutex_);
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) { return line.executor == executor; });
}

std::string StallReport::text() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& line : lines_) text += "\n  " + line.text;
  return text;
}

}  // namespace troupe
