#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Listens at a public address at which processes of a job meet before they have each other's addresses. Any process
/// can send to it, so senders and bytes are not trusted. Used by one thread.
class Acceptor {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  struct Message {
    std::string sender;  ///< id of the connection, for answer()
    std::vector<std::byte> bytes;
  };

  virtual ~Acceptor() = default;
  /// Returns the next message, or nothing if none arrives before the deadline.
  virtual std::optional<Message> receive(Deadline deadline) = 0;
  /// Sends bytes to the sender of a message. Does nothing if the sender has disconnected.
  virtual void answer(const std::string& sender, std::span<const std::byte> bytes) = 0;
};

/// The client's end of a connection to an acceptor. Used by one thread.
class AcceptorClient {
 public:
  virtual ~AcceptorClient() = default;
  virtual void send(std::span<const std::byte> bytes) = 0;
  /// Returns the next answer, or nothing if none arrives before the deadline.
  virtual std::optional<std::vector<std::byte>> receive(Acceptor::Deadline deadline) = 0;
};

/// Listens at tcp://host:port. Throws Error if the address cannot be bound.
std::unique_ptr<Acceptor> make_acceptor(const std::string& address);
/// Connects to tcp://host:port in the background. Throws Error if the address is malformed.
std::unique_ptr<AcceptorClient> connect_to_acceptor(const std::string& address);

}  // namespace troupe
