#pragma once

#include <optional>
#include <zmq.hpp>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/zeromq/reserved_tcp_port.hpp"

namespace troupe::zeromq {

/// The addresses at which the receiving socket of an endpoint listens: a Unix socket for processes of this host, and
/// TCP.
class Listeners {
 public:
  /// Binds the socket and sets the addresses of `address`. All security options of the socket must be set. Throws Error
  /// if the address of the options cannot be bound.
  Listeners(zmq::socket_t& socket, const EndpointOptions& options, EndpointAddress& address);

  /// Listens at the TCP address if it is only reserved: processes of other users can connect to loopback, so no socket
  /// listens there before a peer needs it. Called by the thread that uses the socket.
  void listen_at_tcp() {
    if (reserved_) reserved_->listen(socket_);
  }

 private:
  void bind(const EndpointOptions& options, EndpointAddress& address);

  zmq::socket_t& socket_;
  std::optional<ReservedTcpPort> reserved_;
};

}  // namespace troupe::zeromq
