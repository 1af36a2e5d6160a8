#include "troupe/transport/stranger_log.hpp"

#include <utility>

namespace troupe {

StrangerLog::~StrangerLog() {
  if (left_out_ > 0 && write_)
    write_("[cluster] " + std::to_string(left_out_) +
           " further messages or connections of other processes were ignored");
}

void StrangerLog::add(const std::string& line) {
  std::int64_t left_out = 0;
  {
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      ++left_out_;
      return;
    }
    next_ = now + interval_;
    left_out = std::exchange(left_out_, 0);
  }
  if (write_) write_(left_out == 0 ? line : line + " (and " + std::to_string(left_out) + " more times before)");
}

}  // namespace troupe
