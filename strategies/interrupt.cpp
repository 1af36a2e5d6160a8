#include "strategies/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace troupe {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
  received.store(signal);
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received.store(0);
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int InterruptGuard::signal() const {
  return received.load();
}

}  // namespace troupe
