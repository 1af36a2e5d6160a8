#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <zmq.hpp>

namespace troupe::zeromq {

/// An event of a socket: a constant ZMQ_EVENT_NAME, its value, such as a file descriptor or an error number, and the
/// address, such as tcp://host:port, at which the socket is bound or to which it connects.
struct SocketEvent {
  int number = 0, value = 0;
  std::string address;
};

bool is_handshake_failure(int event_number);

/// Reads the events of a socket: connections that it makes, accepts or cannot accept, handshakes that succeed or fail,
/// disconnects, and attempts to connect that fail or are repeated. ZeroMQ's I/O thread accepts no connection and moves
/// no message while kMostUnread events are unread. Used by one thread.
class Monitor {
 public:
  /// ZeroMQ's limit of the messages between two sockets of a process: 1,000 of its own socket, which cannot be changed,
  /// and 1 of this object's.
  static constexpr std::size_t kMostUnread = 1'001;

  /// Make this object before the socket is bound or connected. `name` must be unique in the context.
  Monitor(zmq::context_t& context, zmq::socket_t& watched, const std::string& name);
  ~Monitor() { stop(); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// The socket to poll: a message can be received if next() returns an event.
  zmq::socket_t& socket() { return events_; }
  /// Returns the next event. Does not wait; returns nothing if there is no event.
  std::optional<SocketEvent> next();
  /// Returns a number that is at least the number of unread events: it counts the event for which ZeroMQ waits, too.
  std::size_t most_unread() const { return read_ahead_.size() + kMostUnread + 1; }
  /// Calls `function`, which may bind the watched socket, while another thread reads the events; next() returns them
  /// afterwards. ZeroMQ holds a lock while it waits for a place for an event, and takes the same lock to bind, so
  /// without a reader both threads could wait for each other without end.
  void read_while(const std::function<void()>& function);
  /// Ends the events. Call it before the watched socket is closed. Does nothing the second time.
  void stop();

 private:
  std::optional<SocketEvent> read();

  zmq::socket_t& watched_;
  zmq::socket_t events_;
  std::deque<SocketEvent> read_ahead_;
};

}  // namespace troupe::zeromq
