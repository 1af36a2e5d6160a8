#include "troupe/transport/zeromq/reserved_tcp_port.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace troupe::zeromq {

ReservedTcpPort::ReservedTcpPort() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof bound;
  auto* const name = reinterpret_cast<sockaddr*>(&bound);
  if (descriptor_ < 0) throw zmq::error_t();
  if (bind(descriptor_, name, length) != 0 || getsockname(descriptor_, name, &length) != 0) {
    close(std::exchange(descriptor_, -1));
    throw zmq::error_t();
  }
  address_ = "tcp://127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
}

ReservedTcpPort::~ReservedTcpPort() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ReservedTcpPort::listen(zmq::socket_t& socket) {
  constexpr int kBacklog = 128;
  if (descriptor_ < 0 || ::listen(descriptor_, kBacklog) != 0) return;
  try {
    socket.set(zmq::sockopt::use_fd, descriptor_);
    socket.bind(address_);
    // ZeroMQ owns the descriptor from now on.
    descriptor_ = -1;
  } catch (const zmq::error_t&) {
    close(std::exchange(descriptor_, -1));
  }
}

}  // namespace troupe::zeromq
