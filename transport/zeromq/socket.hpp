#pragma once

#include <string>
#include <zmq.hpp>

namespace troupe::zeromq {

/// Messages of one peer that wait at most, inside ZeroMQ and acknowledged by nobody.
inline constexpr int kWindow = 16;

zmq::context_t make_context();

/// The one place where sockets are made: every option is set before anything is bound or connected. Keys of an
/// encrypted connection would be set here.
zmq::socket_t make_receiver(zmq::context_t& context);
zmq::socket_t make_sender(zmq::context_t& context, const std::string& identity);
/// For somebody whom the receiver does not know.
zmq::socket_t make_visitor(zmq::context_t& context);

/// Reports of a socket on a socket of their own: those who connect, and what goes wrong.
zmq::socket_t watch(zmq::context_t& context, zmq::socket_t& socket, const std::string& name);

/// Something that happened to a watched socket.
struct SocketEvent {
  int event = 0;  ///< ZMQ_EVENT_...
  std::string address;
};
/// The next report of watch(), without waiting. False if there is none.
bool next_event(zmq::socket_t& monitor, SocketEvent& event);

}  // namespace troupe::zeromq
