#include "troupe/transport/lobby.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe {

namespace {

using namespace zeromq;

bool wait_for_message(zmq::socket_t& socket, Lobby::Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  return zmq::poll(&item, 1, std::max(left, std::chrono::milliseconds(0))) > 0;
}

/// The parts that are left of a message.
std::vector<zmq::message_t> receive_rest(zmq::socket_t& socket, bool more) {
  std::vector<zmq::message_t> parts;
  while (more) {
    zmq::message_t part;
    (void)socket.recv(part);
    more = part.more();
    if (parts.size() < 2) parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<std::byte> bytes_of(const zmq::message_t& message) {
  const auto* begin = static_cast<const std::byte*>(message.data());
  return {begin, begin + message.size()};
}

class ZeroMqLobby final : public Lobby {
 public:
  explicit ZeroMqLobby(const std::string& address) : context_(make_context()), socket_(make_receiver(context_)) {
    try {
      socket_.bind(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " cannot be bound: " + error.what());
    }
  }

  std::optional<Message> receive(Deadline deadline) override {
    if (!wait_for_message(socket_, deadline)) return std::nullopt;
    zmq::message_t sender;
    (void)socket_.recv(sender);
    const auto parts = receive_rest(socket_, sender.more());
    return Message{sender.to_string(), parts.size() == 1 ? bytes_of(parts[0]) : std::vector<std::byte>{}};
  }

  void answer(const std::string& receiver, std::span<const std::byte> bytes) override {
    try {
      zmq::message_t to(receiver.data(), receiver.size());
      if (!socket_.send(to, zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return;
      (void)socket_.send(zmq::message_t(bytes.data(), bytes.size()), zmq::send_flags::dontwait);
    } catch (const zmq::error_t&) {
      // The receiver has gone.
    }
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

class ZeroMqVisit final : public LobbyVisit {
 public:
  explicit ZeroMqVisit(const std::string& address) : context_(make_context()), socket_(make_visitor(context_)) {
    try {
      socket_.connect(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " is no address: " + error.what());
    }
  }

  void send(std::span<const std::byte> bytes) override {
    (void)socket_.send(zmq::message_t(bytes.data(), bytes.size()), zmq::send_flags::dontwait);
  }

  std::optional<std::vector<std::byte>> receive(Lobby::Deadline deadline) override {
    if (!wait_for_message(socket_, deadline)) return std::nullopt;
    zmq::message_t first;
    (void)socket_.recv(first);
    receive_rest(socket_, first.more());
    return bytes_of(first);
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

}  // namespace

std::unique_ptr<Lobby> make_lobby(const std::string& address) {
  return std::make_unique<ZeroMqLobby>(address);
}

std::unique_ptr<LobbyVisit> visit_lobby(const std::string& address) {
  return std::make_unique<ZeroMqVisit>(address);
}

}  // namespace troupe
