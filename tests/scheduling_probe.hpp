#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace troupe::testing {

/// A thread that sleeps for a millisecond at a time and measures how late it runs again. Tests of real-time promises
/// read how long the machine has kept a thread of this process from running.
class SchedulingProbe {
 public:
  SchedulingProbe();
  ~SchedulingProbe();
  SchedulingProbe(const SchedulingProbe&) = delete;
  SchedulingProbe& operator=(const SchedulingProbe&) = delete;

  /// The longest delay since the construction, one that still lasts included.
  std::chrono::nanoseconds worst_delay() const;

 private:
  using Clock = std::chrono::steady_clock;

  void measure();

  std::atomic<Clock::time_point> due_;
  std::atomic<std::chrono::nanoseconds> worst_{std::chrono::nanoseconds(0)};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// Checks a promise that holds as long as no thread waits for a core for more than a part of a limit. `attempt` gets
/// the limit and returns what is wrong, or an empty text. It is called again, with four times the limit, only if
/// something is wrong and the probe has measured a delay of more than an eighth of the limit meanwhile. Returns what
/// was wrong at the last attempt, of at most four.
std::string keeps_promise(std::chrono::milliseconds limit,
                          const std::function<std::string(std::chrono::milliseconds limit)>& attempt);

}  // namespace troupe::testing
