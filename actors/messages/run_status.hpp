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

/// The state that an executor publishes. An executor is an actor of the actor system: it runs one or several segments
/// of a plan (groups of actors that fire together), is an external actor (of a user's class), or is a link actor (the
/// proxy of the actors of another process). The atomic members can be read on any thread, even if the thread that runs
/// the executor is stuck.
struct ExecutorStatus {
  std::string name;
  std::atomic<std::uint64_t> firings{0};  ///< completed firings of the executor's tasks
  /// True if the run is over for this executor: no firing is due.
  std::atomic<bool> finished{true};
  /// True if the executor counts as stalled when it completes no firing within WaitOptions::stall_limit. False for
  /// external actors and link actors, which may have nothing to do.
  std::atomic<bool> watched{false};
  /// True while the executor waits for something outside the plan, such as live data. Meanwhile no executor counts as
  /// stalled, because all may wait for this one.
  std::atomic<bool> waits_outside{false};
  /// The step that the executor is in, or was in last.
  std::atomic<std::int64_t> step{0};
  /// The name of the task that runs now; null between tasks. The name belongs to the plan, which outlives the status.
  std::atomic<const std::string*> running{nullptr};

  /// Called by the executor only: the counter has a single writer.
  void count_firing() { firings.store(firings.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

/// A report on a stalled run, made of lines that the executors add; a line says for what its executor waits.
/// Thread-safe.
class StallReport {
 public:
  /// Adds all lines of an executor at once: text() has all of them or none.
  void add(const std::string& executor, const std::vector<std::string>& lines);
  /// Waits until all of these executors have added lines, for at most `limit`. For each executor that has added none,
  /// adds a line that names the task that the executor runs or, between tasks, says that the executor does not answer.
  void complete(const std::vector<const ExecutorStatus*>& statuses, std::chrono::milliseconds limit);
  std::string text() const;

 private:
  bool has(const std::string& executor) const;  // the caller has locked mutex_

  struct Line {
    std::string executor, text;
  };
  mutable std::mutex mutex_;  // guards lines_
  std::condition_variable added_;
  std::vector<Line> lines_;
};

}  // namespace troupe
