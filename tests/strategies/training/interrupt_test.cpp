#include "troupe/strategies/training/interrupt.hpp"

#include <csignal>

#include "troupe/tests/catch.hpp"

TEST_CASE("a signal raises the flag and nothing else") {
  const troupe::InterruptGuard guard;
  CHECK(guard.signal() == 0);
  std::raise(SIGTERM);
  CHECK(guard.signal() == SIGTERM);
}

TEST_CASE("a new guard starts without a signal") {
  const troupe::InterruptGuard guard;
  CHECK(guard.signal() == 0);
  std::raise(SIGINT);
  CHECK(guard.signal() == SIGINT);
}
