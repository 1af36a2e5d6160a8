#include "troupe/ops/core/signals_blocked.hpp"

#include <thread>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

bool blocks(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

}  // namespace

TEST_CASE("a thread that is started while signals are blocked keeps them blocked; the starting thread does not") {
  bool interrupt = false, fault = true;
  std::thread thread;
  {
    const SignalsBlocked signals_blocked;
    thread = std::thread([&] {
      interrupt = blocks(SIGINT);
      fault = blocks(SIGSEGV);
    });
  }
  thread.join();
  CHECK(interrupt);
  CHECK_FALSE(fault);
  CHECK_FALSE(blocks(SIGINT));
}
