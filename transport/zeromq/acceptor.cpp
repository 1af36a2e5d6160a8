#include "troupe/transport/acceptor.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"
#include "troupe/transport/zeromq/incoming.hpp"
#include "troupe/transport/zeromq/security.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe {

namespace {

using namespace zeromq;

/// The purpose for which the keys of both ends are derived from the secret. Both use one key pair: the secret key
/// proves to each end that the other one knows the secret.
constexpr const char* kPurpose = "rendezvous";
/// The number of connections that may be open besides those of clients with the secret.
constexpr std::size_t kMaxClientsWithoutSecret = 128;

std::chrono::milliseconds time_until(Acceptor::Deadline deadline) {
  const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(remaining, std::chrono::milliseconds(0));
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

class ZeroMqAcceptor final : public Acceptor {
 public:
  ZeroMqAcceptor(const std::vector<std::string>& addresses, const Secret& secret, std::size_t max_clients,
                 std::chrono::milliseconds silence_limit, std::function<void(const std::string& line)> on_stranger)
      : keys_(keys_of(secret.key_for(kPurpose))),
        max_connections_(max_clients + kMaxClientsWithoutSecret),
        on_stranger_(std::move(on_stranger)),
        context_(make_context()),
        authenticator_(context_, [this](const Authenticator::Proof& proof) { return admits(proof); }),
        socket_(make_receiver(context_, kMaxAcceptedBytes)),
        incoming_(
            context_, socket_, "acceptor", [this] { return max_connections_; },
            [this](const std::string& reason) {
              if (on_stranger_) on_stranger_(reason + "; ignored");
            }) {
    encrypt_server(socket_, keys_);
    keep_alive(socket_, silence_limit);
    for (const auto& address : addresses) bind(address);
  }

  std::optional<Message> receive(Deadline deadline) override {
    std::vector<zmq::pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                       {authenticator_.socket().handle(), 0, ZMQ_POLLIN, 0},
                                       {incoming_.events().handle(), 0, ZMQ_POLLIN, 0}};
    while (true) {
      incoming_.look();
      authenticator_.answer();
      zmq::message_t sender;
      if (try_receive(socket_, sender)) {
        const auto parts = receive_rest(socket_, sender.more());
        return Message{sender.to_string(), parts.size() == 1 ? copied(bytes_of(parts[0])) : std::vector<std::byte>{}};
      }
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      poll_items(items, time_until(deadline));
    }
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

  void bind(const std::string& address) {
    try {
      incoming_.bind([&] { socket_.bind(address); });
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " cannot be bound: " + error.what() +
                                    (error.num() == EADDRINUSE ? "; another job or program listens there: give this "
                                                                 "job an address and a port of its own"
                                                               : ""));
    }
  }

  bool admits(const Authenticator::Proof& proof) {
    if (proof.key != keys_.public_key) return false;
    incoming_.admit();
    return true;
  }

  const CurveKeys keys_;
  const std::size_t max_connections_;
  const std::function<void(const std::string& line)> on_stranger_;
  zmq::context_t context_;
  Authenticator authenticator_;
  zmq::socket_t socket_;
  Incoming incoming_;
};

class ZeroMqClient final : public AcceptorClient {
 public:
  ZeroMqClient(const std::string& address, const Secret& secret, std::chrono::milliseconds silence_limit,
               bool has_listened)
      : silence_limit_(silence_limit),
        has_listened_(has_listened),
        context_(make_context()),
        socket_(make_client(context_)),
        monitor_(context_, socket_, "client") {
    const auto keys = keys_of(secret.key_for(kPurpose));
    encrypt_client(socket_, keys, keys.public_key);
    keep_alive(socket_, silence_limit);
    try {
      socket_.connect(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " is no address: " + error.what());
    }
  }

  void send(std::span<const std::byte> bytes) override {
    if (bytes.size() > kMaxAcceptedBytes)
      throw Error("rendezvous", "the options that must be equal in all processes take " + std::to_string(bytes.size()) +
                                    " bytes, more than the limit of " + std::to_string(kMaxAcceptedBytes));
    zmq::message_t message(bytes.data(), bytes.size());
    (void)try_send(socket_, message, zmq::send_flags::none);
  }

  std::optional<std::vector<std::byte>> receive(Acceptor::Deadline deadline) override {
    std::vector<zmq::pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                       {monitor_.socket().handle(), 0, ZMQ_POLLIN, 0}};
    while (true) {
      // Read before the messages: an answer that arrived before the end of the connection counts.
      note_events();
      if (auto answer = next_answer()) return answer;
      if (cut_off_ || deserted_ || std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      poll_items(items, time_until(deadline));
    }
  }

  bool was_refused() const override { return refused_; }
  bool is_cut_off() const override { return cut_off_; }
  bool is_deserted() const override { return deserted_; }

 private:
  void note_events() {
    while (const auto event = monitor_.next()) {
      // Before the handshake, a disconnect only ends an attempt to connect, and ZeroMQ makes another.
      cut_off_ = cut_off_ || (connected_ && event->number == ZMQ_EVENT_DISCONNECTED);
      connected_ = connected_ || event->number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
      refused_ = refused_ || is_handshake_failure(event->number);
      if (event->number == ZMQ_EVENT_CONNECTED) note_listener();
      if (event->number == ZMQ_EVENT_CLOSED) note_no_listener();
    }
  }

  /// The kernel of the address has accepted a connection, before any handshake.
  void note_listener() {
    has_listened_ = true;
    deserted_since_.reset();
  }

  /// An attempt to connect has failed. A listener whose queue is full, as in a flood by strangers, fails no attempt:
  /// the kernel drops the first packet, which is sent again.
  void note_no_listener() {
    refused_ = false;
    const auto now = std::chrono::steady_clock::now();
    if (!deserted_since_) deserted_since_ = now;
    deserted_ = has_listened_ && now - *deserted_since_ > silence_limit_;
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

  const std::chrono::milliseconds silence_limit_;
  bool has_listened_;
  std::optional<std::chrono::steady_clock::time_point>
      deserted_since_;  // the first failed attempt after the last other
  zmq::context_t context_;
  zmq::socket_t socket_;
  Monitor monitor_;
  bool connected_ = false, refused_ = false, cut_off_ = false, deserted_ = false;
};

}  // namespace

std::unique_ptr<Acceptor> make_acceptor(const std::vector<std::string>& addresses, const Secret& secret,
                                        std::size_t max_clients, std::chrono::milliseconds silence_limit,
                                        std::function<void(const std::string& line)> on_stranger) {
  const SignalsBlocked blocked;
  return std::make_unique<ZeroMqAcceptor>(addresses, secret, max_clients, silence_limit, std::move(on_stranger));
}

std::unique_ptr<AcceptorClient> connect_to_acceptor(const std::string& address, const Secret& secret,
                                                    std::chrono::milliseconds silence_limit, bool has_listened) {
  const SignalsBlocked blocked;
  return std::make_unique<ZeroMqClient>(address, secret, silence_limit, has_listened);
}

}  // namespace troupe
