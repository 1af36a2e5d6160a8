#include "troupe/transport/work.hpp"

#include <thread>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void Work::wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!advance()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw Error("collective", "not complete after " + std::to_string(limit.count()) + " ms: " + waits_for());
    std::this_thread::yield();
  }
}

}  // namespace troupe
