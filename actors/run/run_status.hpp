#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// What one host shows of itself without being asked: readable on any thread even if its own is stuck.
struct HostStatus {
  std::string name;
  std::atomic<std::uint64_t> firings{0};  ///< of its tasks
  /// The task that runs now; null between tasks. Points to a string that lives as long as the plan.
  std::atomic<const std::string*> running{nullptr};

  /// Only the host itself counts.
  void count_firing() { firings.store(firings.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

/// The lines that the actors of a stalled run write about themselves.
class StallReport {
 public:
  void add(const std::string& host, const std::string& line);
  /// True if a host has written.
  bool has(const std::string& host) const;
  std::string text() const;

 private:
  struct Line {
    std::string host, text;
  };
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace troupe
