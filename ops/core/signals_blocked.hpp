#pragma once

#include <csignal>
#include <initializer_list>

namespace troupe {

/// Blocks signals on the calling thread until it is destroyed. A thread that is started meanwhile inherits this, so a
/// program's signal handlers run on the program's threads and do not interrupt the waits of the library's. Signals
/// that report an error of the running code, and the profiler's, are not blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigfillset(&signals);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace troupe
