#pragma once

namespace troupe {

/// While the guard lives, the first SIGINT (Ctrl-C) or SIGTERM only sets the value of signal(), so that a program can
/// end its training in order. The same signal a second time ends the process. A signal that was ignored before stays
/// ignored. The destructor restores the previous handlers. Only one guard may exist at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Returns the number of the signal that has arrived last since the guard was constructed, or 0.
  int signal() const;
};

}  // namespace troupe
