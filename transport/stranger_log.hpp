#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace troupe {

/// Passes on lines about processes that do not belong to the job: at most one line per `interval`, with the number of
/// lines that were left out before it. Thread-safe.
class StrangerLog {
 public:
  using Write = std::function<void(const std::string& line)>;

  /// `write` is called on the threads that call add(), and by the destructor if lines were left out at the end.
  explicit StrangerLog(Write write, std::chrono::milliseconds interval = std::chrono::seconds(1))
      : write_(std::move(write)), interval_(interval) {}
  ~StrangerLog();
  StrangerLog(const StrangerLog&) = delete;
  StrangerLog& operator=(const StrangerLog&) = delete;

  /// Passes the line on, or counts it if the last line was passed on less than an interval ago.
  void add(const std::string& line);

 private:
  const Write write_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_{};
  std::int64_t left_out_ = 0;
};

}  // namespace troupe
