#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/transport/secret.hpp"

namespace troupe {

/// The largest message that an acceptor receives, in bytes. Also bounds the memory that a connection without the secret
/// takes during its handshake.
inline constexpr std::size_t kMaxAcceptedBytes = std::size_t{1} << 16;

/// Receives messages at the rendezvous of a job: the public address at which its processes meet before they know each
/// other's addresses. Any process can connect to this address. Connections are encrypted (CURVE), and ZeroMQ closes one
/// without the job's secret before its first message. Used by one thread.
class Acceptor {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  struct Message {
    std::string sender;  ///< id of the connection, for answer()
    std::vector<std::byte> bytes;
  };

  virtual ~Acceptor() = default;
  /// Blocks until the next message arrives. Returns nothing if none arrives before the deadline.
  virtual std::optional<Message> receive(Deadline deadline) = 0;
  /// Sends bytes to `sender`, the Message::sender of a received message. Does nothing if that connection has ended.
  virtual void answer(const std::string& sender, std::span<const std::byte> bytes) = 0;
  /// Returns whether the connection of a received message is still there. It ends when the sender closes it, dies, or
  /// falls silent. Sends an empty message, which AcceptorClient drops.
  virtual bool reaches(const std::string& sender) = 0;
};

/// The client's end of a connection to an acceptor. Used by one thread.
class AcceptorClient {
 public:
  virtual ~AcceptorClient() = default;
  /// Throws Error if there are more than kMaxAcceptedBytes bytes.
  virtual void send(std::span<const std::byte> bytes) = 0;
  /// Blocks until the acceptor's next answer arrives. Returns nothing if none arrives before the deadline, or if
  /// is_cut_off() or is_deserted() has become true.
  virtual std::optional<std::vector<std::byte>> receive(Acceptor::Deadline deadline) = 0;
  /// Whether, when receive() last looked, a process listened at the address and had closed a connection during the
  /// handshake: it is no acceptor, or has another secret.
  virtual bool was_refused() const = 0;
  /// Whether, when receive() last looked, the connection had ended after it was made: the acceptor was closed, has died
  /// or is silent.
  virtual bool is_cut_off() const = 0;
  /// Whether, when receive() last looked, a process had listened at the address, and then no process for longer than
  /// the silence limit. An address that does not answer at all does not count.
  virtual bool is_deserted() const = 0;
};

/// Makes an acceptor that listens at all `addresses`, tcp://host:port, for up to `max_clients` clients with the secret.
/// At most 128 connections without the secret stay open; the oldest is closed first. A client that is silent for
/// longer than `silence_limit` is disconnected. `on_stranger` is called, by receive(), with one line for each
/// connection without the secret. Throws Error if an address cannot be bound.
std::unique_ptr<Acceptor> make_acceptor(const std::vector<std::string>& addresses, const Secret& secret,
                                        std::size_t max_clients, std::chrono::milliseconds silence_limit,
                                        std::function<void(const std::string& line)> on_stranger = {});
/// Makes a client that connects in the background to the acceptor at `address`, tcp://host:port. An acceptor that is
/// silent for longer than `silence_limit` is disconnected. `has_listened` is whether a process is known to have
/// listened at the address, see AcceptorClient::is_deserted(). Throws Error if the address is malformed.
std::unique_ptr<AcceptorClient> connect_to_acceptor(const std::string& address, const Secret& secret,
                                                    std::chrono::milliseconds silence_limit, bool has_listened = false);

}  // namespace troupe
