#pragma once

namespace troupe {

/// While the guard lives, the first SIGINT (Ctrl-C) or SIGTERM sets a flag, so that a program can end its training in
/// order. The same signal a second time ends the process. A signal that was ignored before stays ignored. The
/// destructor restores the previous handlers. Only one guard may exist at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that has arrived last, or 0.
  int signal() const;
};

}  // namespace troupe
