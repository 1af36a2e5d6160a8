#include "troupe/transport/zeromq/socket.hpp"

#include <cstdint>
#include <cstring>

#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::zeromq {

namespace {

/// Sent and not yet handed to the kernel when a socket is closed.
constexpr int kLingerMs = 2'000;
constexpr int kHandshakeMs = 10'000;
constexpr int kMostSockets = 16'384;

void set_common(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::linger, kLingerMs);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  // Its heartbeats end a process whose receiver is full; see Liveness for ours.
  socket.set(zmq::sockopt::heartbeat_ivl, 0);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kPacketBytes));
}

}  // namespace

zmq::context_t make_context() {
  zmq::context_t context(1);
  context.set(zmq::ctxopt::max_sockets, kMostSockets);
  return context;
}

zmq::socket_t make_receiver(zmq::context_t& context) {
  zmq::socket_t socket(context, zmq::socket_type::router);
  set_common(socket);
  socket.set(zmq::sockopt::rcvhwm, 2 * kWindow);
  // Sending to somebody who has gone is an error and not a silent loss; only a lobby sends on it.
  socket.set(zmq::sockopt::router_mandatory, true);
  return socket;
}

zmq::socket_t make_sender(zmq::context_t& context, const std::string& identity) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  set_common(socket);
  // What is sent before the connection is there waits with us, not with ZeroMQ; and it is we who bound it.
  socket.set(zmq::sockopt::immediate, true);
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::routing_id, identity);
  return socket;
}

zmq::socket_t make_visitor(zmq::context_t& context) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  set_common(socket);
  return socket;
}

zmq::socket_t watch(zmq::context_t& context, zmq::socket_t& socket, const std::string& name) {
  constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  const auto address = "inproc://" + name;
  if (zmq_socket_monitor(socket.handle(), address.c_str(), kEvents) != 0) throw zmq::error_t();
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  monitor.connect(address);
  return monitor;
}

bool next_event(zmq::socket_t& monitor, SocketEvent& event) {
  zmq::message_t number, address;
  if (!monitor.recv(number, zmq::recv_flags::dontwait)) return false;
  (void)monitor.recv(address);
  std::uint16_t id = 0;
  std::memcpy(&id, number.data(), sizeof id);
  event = {id, address.to_string()};
  return true;
}

}  // namespace troupe::zeromq
