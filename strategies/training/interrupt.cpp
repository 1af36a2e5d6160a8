#include "troupe/strategies/training/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace troupe {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

struct sigaction before_interrupt, before_terminate;

// The signal handler. Because of SA_RESETHAND, the same signal a second time has the default action.
void note(int signal) {
  received.store(signal);
}

void install(int signal, struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, nullptr, &before);
  // A signal that is ignored stays ignored: nohup, or a shell that runs a script's job in the background, ignores it.
  if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received.store(0);
  install(SIGINT, before_interrupt);
  install(SIGTERM, before_terminate);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &before_interrupt, nullptr);
  sigaction(SIGTERM, &before_terminate, nullptr);
}

int InterruptGuard::signal() const {
  return received.load();
}

}  // namespace troupe
