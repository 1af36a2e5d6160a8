#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// What one executor publishes for polling: readable on any thread even if its own is stuck.
struct ExecutorStatus {
  std::string name;
  std::atomic<std::uint64_t> firings{0};  ///< of its tasks, completed ones only
  /// The run is over for this executor, so that it need not fire.
  std::atomic<bool> finished{true};
  /// It counts as a stall if this one completes no firing for long. Not so for external actors and links, which may
  /// have nothing to do.
  std::atomic<bool> watched{false};
  /// It waits for something outside the plan, such as live data, and that is no stall.
  std::atomic<bool> waits_outside{false};
  /// The step that it is in, or was last.
  std::atomic<std::int64_t> step{0};
  /// The task that runs now; null between tasks. Points to a name in the plan, which lives longer than this.
  std::atomic<const std::string*> running{nullptr};

  /// Only the executor itself counts.
  void count_firing() { firings.store(firings.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

/// The lines that the actors of a stalled run write about themselves. Thread-safe.
class StallReport {
 public:
  /// All lines of an executor at once: a reader that sees one of them sees all.
  void add(const std::string& executor, const std::vector<std::string>& lines);
  /// Waits until all of these executors have written, for `limit` at most, and writes a line for each of the others.
  void complete(const std::vector<const ExecutorStatus*>& statuses, std::chrono::milliseconds limit);
  std::string text() const;

 private:
  bool has(const std::string& executor) const;  // under the lock

  struct Line {
    std::string executor, text;
  };
  mutable std::mutex mutex_;  // guards lines_
  std::condition_variable added_;
  std::vector<Line> lines_;
};

}  // namespace troupe
