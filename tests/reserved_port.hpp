#pragma once

#include <string>

namespace troupe::testing {

/// A TCP port of the loopback interface that no other process is given while this object lives: a socket is bound to it
/// that does not listen. A listener with SO_REUSEADDR may be bound beside it, and is when a rendezvous begins.
class ReservedPort {
 public:
  /// Throws Error if the kernel has no port to give.
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  int number() const { return number_; }
  /// 127.0.0.1:PORT
  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  int descriptor_;
  int number_;
};

/// The address of a port that stays reserved until the process ends.
std::string new_address();

}  // namespace troupe::testing
