#include "troupe/transport/acceptor.hpp"

#include <algorithm>
#include <cerrno>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe {

namespace {

using namespace zeromq;

std::chrono::milliseconds time_until(Acceptor::Deadline deadline) {
  const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(remaining, std::chrono::milliseconds(0));
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

class ZeroMqAcceptor final : public Acceptor {
 public:
  ZeroMqAcceptor(const std::string& address, std::chrono::milliseconds silence_limit)
      : context_(make_context()), socket_(make_receiver(context_)) {
    keep_alive(socket_, silence_limit);
    try {
      socket_.bind(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " cannot be bound: " + error.what());
    }
  }

  std::optional<Message> receive(Deadline deadline) override {
    zmq::message_t sender;
    std::vector<zmq::pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0}};
    while (!try_receive(socket_, sender)) {
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      poll_items(items, time_until(deadline));
    }
    const auto parts = receive_rest(socket_, sender.more());
    return Message{sender.to_string(), parts.size() == 1 ? copied(bytes_of(parts[0])) : std::vector<std::byte>{}};
  }

  void answer(const std::string& sender, std::span<const std::byte> bytes) override { (void)send(sender, bytes); }
  bool reaches(const std::string& sender) override { return send(sender, {}); }

 private:
  /// Returns false if the sender has disconnected.
  bool send(const std::string& sender, std::span<const std::byte> bytes) {
    try {
      zmq::message_t to(sender.data(), sender.size()), message(bytes.data(), bytes.size());
      if (try_send(socket_, to, zmq::send_flags::sndmore)) (void)try_send(socket_, message, zmq::send_flags::none);
      return true;
    } catch (const zmq::error_t& error) {
      return error.num() != EHOSTUNREACH;
    }
  }

  zmq::context_t context_;
  zmq::socket_t socket_;
};

class ZeroMqClient final : public AcceptorClient {
 public:
  ZeroMqClient(const std::string& address, std::chrono::milliseconds silence_limit)
      : context_(make_context()), socket_(make_client(context_)), monitor_(watch(context_, socket_, "client")) {
    keep_alive(socket_, silence_limit);
    try {
      socket_.connect(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " is no address: " + error.what());
    }
  }
  ~ZeroMqClient() override { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

  void send(std::span<const std::byte> bytes) override {
    zmq::message_t message(bytes.data(), bytes.size());
    (void)try_send(socket_, message, zmq::send_flags::none);
  }

  std::optional<std::vector<std::byte>> receive(Acceptor::Deadline deadline) override {
    std::vector<zmq::pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0}, {monitor_.handle(), 0, ZMQ_POLLIN, 0}};
    while (true) {
      // Read before the messages: an answer that arrived before the end of the connection counts.
      note_events();
      if (auto answer = next_answer()) return answer;
      if (cut_off_ || std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      poll_items(items, time_until(deadline));
    }
  }

  bool is_cut_off() const override { return cut_off_; }

 private:
  void note_events() {
    while (const auto event = next_event(monitor_)) {
      // Before the handshake, a disconnect only ends an attempt to connect, and ZeroMQ makes another.
      cut_off_ = cut_off_ || (connected_ && *event == ZMQ_EVENT_DISCONNECTED);
      connected_ = connected_ || *event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    }
  }

  /// Returns the next message that is not empty, or nothing. Does not wait.
  std::optional<std::vector<std::byte>> next_answer() {
    zmq::message_t first;
    while (try_receive(socket_, first)) {
      receive_rest(socket_, first.more());
      if (first.size() > 0) return copied(bytes_of(first));
    }
    return std::nullopt;
  }

  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  bool connected_ = false, cut_off_ = false;
};

}  // namespace

std::unique_ptr<Acceptor> make_acceptor(const std::string& address, std::chrono::milliseconds silence_limit) {
  return std::make_unique<ZeroMqAcceptor>(address, silence_limit);
}

std::unique_ptr<AcceptorClient> connect_to_acceptor(const std::string& address,
                                                    std::chrono::milliseconds silence_limit) {
  return std::make_unique<ZeroMqClient>(address, silence_limit);
}

}  // namespace troupe
