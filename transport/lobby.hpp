#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A public address where processes meet that do not know each other yet. Anybody may send to it. One thread.
class Lobby {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// What somebody has sent, and who it was, for the answer.
  struct Message {
    std::string sender;
    std::vector<std::byte> bytes;
  };

  virtual ~Lobby() = default;
  /// The next message; nothing if none has come by then.
  virtual std::optional<Message> receive(Deadline deadline) = 0;
  /// Nothing happens if the receiver has gone.
  virtual void answer(const std::string& receiver, std::span<const std::byte> bytes) = 0;
};

/// A process that has come to a lobby. One thread.
class LobbyVisit {
 public:
  virtual ~LobbyVisit() = default;
  virtual void send(std::span<const std::byte> bytes) = 0;
  virtual std::optional<std::vector<std::byte>> receive(Lobby::Deadline deadline) = 0;
};

/// `address` is tcp://host:port. Throws Error if it cannot be bound, or is none.
std::unique_ptr<Lobby> make_lobby(const std::string& address);
std::unique_ptr<LobbyVisit> visit_lobby(const std::string& address);

}  // namespace troupe
