#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <zmq.hpp>

#include "troupe/transport/zeromq/monitor.hpp"

namespace troupe::zeromq {

/// The TCP connections that other processes have made to a socket. Each takes memory before it proves that it belongs
/// to the job, so this object closes connections above a limit: the oldest ones that cannot have proved it yet. Between
/// two calls of look(), ZeroMQ accepts at most Monitor::kMostUnread connections. A process of the job whose connection
/// is closed connects again. Used by one thread.
class Incoming {
 public:
  /// `limit` returns the number of connections that may be open. `on_stranger` is called with a reason, such as `a
  /// process that does not prove that it belongs to the job has connected`, for each connection without a proof.
  /// `name` must be unique in the context. Make this object before the socket is bound.
  Incoming(zmq::context_t& context, zmq::socket_t& socket, const std::string& name, std::function<std::size_t()> limit,
           std::function<void(const std::string& reason)> on_stranger);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// Calls a function that binds the socket.
  void bind(const std::function<void()>& function);

  /// The socket to poll. Call look() when it can be read.
  zmq::socket_t& events() { return monitor_.socket(); }
  /// Handles all events that have happened before the call, and closes the excess of connections. Does not wait.
  void look();
  /// A process was admitted. None of the connections that are open now is closed, because one of them is that of the
  /// process. Call it before the process learns that it was admitted.
  void admit();

 private:
  /// Notes all events that have happened before the call, and few of the later ones, so that a flood does not keep the
  /// caller here.
  void note_events();
  void note(const SocketEvent& event);
  void remove(int descriptor);
  /// Moves the oldest connections that are not proved to closing_ until at most limit_() are open.
  void choose_excess();
  /// Closes the connections in closing_.
  void close_excess();

  Monitor monitor_;
  const std::function<std::size_t()> limit_;
  const std::function<void(const std::string& reason)> on_stranger_;
  // File descriptors of connections. They belong to ZeroMQ.
  std::set<int> open_;
  std::deque<int> unproved_;  // in open_, accepted since the last admit()
  /// Duplicates of the file descriptors of connections that will be closed, by descriptor. ZeroMQ may close a
  /// descriptor at any time, and the kernel may give its number to another file. ZeroMQ reports the end of a connection
  /// before it closes the descriptor: a duplicate belongs to the connection if no end is reported after it was made.
  std::map<int, int> closing_;
};

}  // namespace troupe::zeromq
