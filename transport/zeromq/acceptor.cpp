#include "troupe/transport/acceptor.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe {

namespace {

using namespace zeromq;

bool wait_for_message(zmq::socket_t& socket, Acceptor::Deadline deadline) {
  const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  return zmq::poll(&item, 1, std::max(remaining, std::chrono::milliseconds(0))) > 0;
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

class ZeroMqAcceptor final : public Acceptor {
 public:
  explicit ZeroMqAcceptor(const std::string& address) : context_(make_context()), socket_(make_receiver(context_)) {
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
    return Message{sender.to_string(), parts.size() == 1 ? copied(bytes_of(parts[0])) : std::vector<std::byte>{}};
  }

  void answer(const std::string& sender, std::span<const std::byte> bytes) override {
    try {
      zmq::message_t to(sender.data(), sender.size());
      if (!socket_.send(to, zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return;
      (void)socket_.send(zmq::message_t(bytes.data(), bytes.size()), zmq::send_flags::dontwait);
    } catch (const zmq::error_t&) {
      // The sender has disconnected, so it gets no answer.
    }
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

class ZeroMqClient final : public AcceptorClient {
 public:
  explicit ZeroMqClient(const std::string& address) : context_(make_context()), socket_(make_client(context_)) {
    try {
      socket_.connect(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " is no address: " + error.what());
    }
  }

  void send(std::span<const std::byte> bytes) override {
    (void)socket_.send(zmq::message_t(bytes.data(), bytes.size()), zmq::send_flags::dontwait);
  }

  std::optional<std::vector<std::byte>> receive(Acceptor::Deadline deadline) override {
    if (!wait_for_message(socket_, deadline)) return std::nullopt;
    zmq::message_t first;
    (void)socket_.recv(first);
    receive_rest(socket_, first.more());
    return copied(bytes_of(first));
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

}  // namespace

std::unique_ptr<Acceptor> make_acceptor(const std::string& address) {
  return std::make_unique<ZeroMqAcceptor>(address);
}

std::unique_ptr<AcceptorClient> connect_to_acceptor(const std::string& address) {
  return std::make_unique<ZeroMqClient>(address);
}

}  // namespace troupe
