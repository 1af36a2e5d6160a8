#pragma once

#include <chrono>
#include <functional>

namespace troupe::testing {

/// The time that a fixed piece of work takes in this process divided by the time that it takes in a release build on
/// the idle reference machine, at least 1. The work is memory accesses and handoffs between two threads, so sanitizers
/// and other load count. Measured once per process unless TROUPE_SLOWNESS in the environment gives the number.
/// Thread-safe.
double slowness();

/// A limit that suits the reference machine, scaled to this machine.
std::chrono::milliseconds limit_of(std::chrono::milliseconds on_reference_machine);

/// The longest that a test waits for an event that must come. A test that reaches it has failed; no test waits so long
/// when all is well.
std::chrono::milliseconds patience();

/// Waits until a condition holds, at most patience(). Returns whether it holds, and throws what the condition throws.
bool eventually(const std::function<bool()>& holds);

}  // namespace troupe::testing
