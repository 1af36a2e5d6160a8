#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include "troupe/ops/core/error.hpp"

namespace troupe::zeromq {

/// A file descriptor (eventfd) by which signal() wakes a thread that polls it. Thread-safe.
class WakeUp {
 public:
  WakeUp() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw Error("endpoint", "no further file descriptor can be opened");
  }
  ~WakeUp() { ::close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  int descriptor() const { return descriptor_; }
  void signal() const { (void)!eventfd_write(descriptor_, 1); }
  void clear() const {
    eventfd_t count = 0;
    (void)!eventfd_read(descriptor_, &count);
  }

 private:
  int descriptor_;
};

}  // namespace troupe::zeromq
