#pragma once

namespace troupe {

/// While it lives, Ctrl-C (SIGINT) and SIGTERM only raise a flag, so that a training can end in order; a second one
/// ends the process as usual. Its end restores the previous handlers. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that came, or 0.
  int signal() const;
};

}  // namespace troupe
