#include "troupe/transport/work.hpp"

#include <thread>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// What is nearly complete is worth looking at often.
constexpr int kEagerLooks = 1'000;
constexpr std::chrono::microseconds kPause{100};

}  // namespace

void Work::wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (int looks = 0; !advance(); ++looks) {
    if (std::chrono::steady_clock::now() > deadline)
      throw Error("collective", "not complete after " + std::to_string(limit.count()) + " ms: " + waits_for());
    if (looks < kEagerLooks)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
  }
}

}  // namespace troupe
