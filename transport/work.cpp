#include "troupe/transport/work.hpp"

#include <algorithm>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/timed_out.hpp"

namespace troupe {

namespace {

using Clock = std::chrono::steady_clock;

// Work::wait() calls advance() this many times without sleeping, so that it returns soon if the work is nearly
// complete. It sleeps for kPause between further calls.
constexpr int kEagerLooks = 1'000;
constexpr std::chrono::microseconds kPause{100};

}  // namespace

const Event& Work::done(std::size_t /*local*/) const {
  static const Event kDone;
  return kDone;
}

void Work::wait(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  const auto expect_more_time = [&](bool is_left) {
    if (!is_left)
      throw TimedOut("collective", "not complete after " + std::to_string(limit.count()) + " ms: " + waits_for());
  };
  for (int looks = 0; !advance(); ++looks) {
    expect_more_time(Clock::now() <= deadline);
    if (looks < kEagerLooks)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
  }
  expect_more_time(done().wait_for(std::max(deadline - Clock::now(), Clock::duration::zero())));
}

}  // namespace troupe
