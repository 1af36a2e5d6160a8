#pragma once

namespace troupe {

/// While it lives, the first SIGINT (Ctrl-C) or SIGTERM sets a flag, so that a training can end in order. The second
/// one ends the process as usual. The destructor restores the previous handlers. One guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that has arrived, or 0.
  int signal() const;
};

}  // namespace troupe
