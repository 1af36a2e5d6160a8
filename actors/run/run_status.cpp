#include "troupe/actors/run/run_status.hpp"

#include <algorithm>

namespace troupe {

void StallReport::add(const std::string& host, const std::string& line) {
  std::lock_guard lock(mutex_);
  lines_.push_back({host, line});
}

bool StallReport::has(const std::string& host) const {
  std::lock_guard lock(mutex_);
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) { return line.host == host; });
}

std::string StallReport::text() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& line : lines_) text += "\n  " + line.text;
  return text;
}

}  // namespace troupe
