#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// Records when each task of a plan fired. Thread-safe. A plan that is spawned without a trace spends no time on
/// recording.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  struct Event {
    std::string task;
    std::string device;
    int replica = 0;
    std::int64_t step = 0;
    Clock::time_point begin, end;
  };

  void add(Event event);
  std::vector<Event> events() const;
  /// Writes the events as JSON for chrome://tracing and Perfetto. Throws Error if the file cannot be written.
  void write(const std::filesystem::path& file) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace troupe
