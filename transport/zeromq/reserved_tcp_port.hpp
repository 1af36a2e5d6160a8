#pragma once

#include <string>
#include <zmq.hpp>

namespace troupe::zeromq {

/// A TCP port of 127.0.0.1 that no other process is given, and at which no socket listens before listen().
class ReservedTcpPort {
 public:
  /// Throws zmq::error_t if the kernel has no port to give.
  ReservedTcpPort();
  ~ReservedTcpPort();
  ReservedTcpPort(const ReservedTcpPort&) = delete;
  ReservedTcpPort& operator=(const ReservedTcpPort&) = delete;

  /// Returns tcp://127.0.0.1:PORT.
  const std::string& address() const { return address_; }
  /// Makes `socket` listen at the port. Call it on the thread that uses the socket. Does nothing the second time, and
  /// if the kernel refuses: connections to the port then fail.
  void listen(zmq::socket_t& socket);

 private:
  int descriptor_;
  std::string address_;
};

}  // namespace troupe::zeromq
