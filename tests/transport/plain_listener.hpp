#pragma once

#include <string>
#include <zmq.hpp>

#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"

namespace troupe::testing {

/// A process that listens at an address and sends no byte. Its end closes the connections that it has accepted.
class PlainListener {
 public:
  /// Listens at `address`, tcp://host:port.
  explicit PlainListener(const std::string& address) : socket_(context_, zmq::socket_type::stream) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, static_cast<int>(patience().count()));
    socket_.bind(address);
  }

  /// Blocks until a connection is accepted. Throws if none comes soon.
  void expect_connection() {
    zmq::message_t connection;
    expect(socket_.recv(connection).has_value(), "no connection has come");
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

}  // namespace troupe::testing
