#include "troupe/tests/scheduling_probe.hpp"

#include <algorithm>

namespace troupe::testing {

namespace {

constexpr std::chrono::milliseconds kSleep{1};

}  // namespace

SchedulingProbe::SchedulingProbe() : due_(Clock::now() + kSleep), thread_([this] { measure(); }) {}

SchedulingProbe::~SchedulingProbe() {
  stopping_ = true;
  thread_.join();
}

void SchedulingProbe::measure() {
  while (!stopping_) {
    std::this_thread::sleep_until(due_.load());
    const auto now = Clock::now();
    worst_ = std::max(worst_.load(), std::chrono::nanoseconds(now - due_.load()));
    due_ = now + kSleep;
  }
}

std::chrono::nanoseconds SchedulingProbe::worst_delay() const {
  return std::max(worst_.load(), std::chrono::nanoseconds(Clock::now() - due_.load()));
}

std::string keeps_promise(std::chrono::milliseconds limit,
                          const std::function<std::string(std::chrono::milliseconds limit)>& attempt) {
  constexpr int kAttempts = 4;
  std::string wrong;
  for (int i = 0; i < kAttempts; ++i, limit *= 4) {
    const SchedulingProbe probe;
    wrong = attempt(limit);
    if (wrong.empty() || probe.worst_delay() <= limit / 8) break;
  }
  return wrong;
}

}  // namespace troupe::testing
