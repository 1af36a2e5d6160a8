#pragma once

#include <string>
#include <string_view>

namespace troupe::testing {

/// A process that speaks to a ZeroMQ socket byte by byte, as no ZeroMQ socket would.
class Stranger {
 public:
  /// Connects to `address`: tcp://127.0.0.1:port or ipc://@name.
  explicit Stranger(const std::string& address);
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  bool connected() const { return connected_; }
  /// Whether the other end has closed the connection. Drops the bytes that it has sent.
  bool is_closed() const;
  /// Whether the other end has accepted the connection and has begun ZeroMQ's greeting.
  bool is_greeted() const;
  void send(std::string_view bytes) const;
  /// Sends the greeting of ZMTP 3.0 with a security mechanism, such as NULL, and its first command.
  void begin(const std::string& mechanism) const;
  /// Sends frames of 1 MiB, each announced as a part of a message that goes on, until `bytes` bytes are sent, the other
  /// end closes the connection, or it reads nothing for a while. Returns the number of bytes that were sent.
  std::size_t flood(std::size_t bytes) const;
  /// Blocks until the other end closes the connection. Returns the number of bytes that it has sent before.
  std::size_t received_until_closed() const;

 private:
  int descriptor_;
  bool connected_ = false;
};

}  // namespace troupe::testing
