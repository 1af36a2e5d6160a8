#include "troupe/transport/acceptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/security.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe {

namespace {

using namespace zeromq;

/// The purpose for which the keys of both ends are derived from the secret. Both use one key pair: the secret key
/// proves to each end that the other one knows the secret.
constexpr const char* kPurpose = "rendezvous";

std::chrono::milliseconds until(Acceptor::Deadline deadline) {
  const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(remaining, std::chrono::milliseconds(0));
}

bool is_handshake_failure(int event) {
  return event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
         event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

class ZeroMqAcceptor final : public Acceptor {
 public:
  ZeroMqAcceptor(const std::vector<std::string>& addresses, const Secret& secret,
                 std::function<void(const std::string& line)> on_stranger)
      : keys_(keys_of(secret.key_for(kPurpose))),
        on_stranger_(std::move(on_stranger)),
        context_(make_context()),
        authenticator_(context_, [this](const Authenticator::Proof& proof) { return proof.key == keys_.public_key; }),
        socket_(make_receiver(context_)),
        monitor_(watch(context_, socket_, "acceptor")) {
    encrypt_server(socket_, keys_);
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxAcceptedBytes + kEncryptionBytes));
    for (const auto& address : addresses) bind(address);
  }
  ~ZeroMqAcceptor() override { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

  std::optional<Message> receive(Deadline deadline) override {
    while (true) {
      std::array<zmq::pollitem_t, 3> items{{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                            {authenticator_.socket().handle(), 0, ZMQ_POLLIN, 0},
                                            {monitor_.handle(), 0, ZMQ_POLLIN, 0}}};
      if (zmq::poll(items.data(), items.size(), until(deadline)) == 0) return std::nullopt;
      authenticator_.answer();
      report_strangers();
      zmq::message_t sender;
      if (!socket_.recv(sender, zmq::recv_flags::dontwait)) {
        if (until(deadline).count() == 0) return std::nullopt;
        continue;
      }
      const auto parts = receive_rest(socket_, sender.more());
      return Message{sender.to_string(), parts.size() == 1 ? copied(bytes_of(parts[0])) : std::vector<std::byte>{}};
    }
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
  void bind(const std::string& address) {
    try {
      socket_.bind(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " cannot be bound: " + error.what() +
                                    (error.num() == EADDRINUSE ? "; another job or program listens there: give this "
                                                                 "job an address and a port of its own"
                                                               : ""));
    }
  }

  void report_strangers() {
    while (const auto event = next_event(monitor_))
      if (is_handshake_failure(*event) && on_stranger_)
        on_stranger_("a process without the secret of the job has connected; ignored");
  }

  const CurveKeys keys_;
  const std::function<void(const std::string& line)> on_stranger_;
  zmq::context_t context_;
  Authenticator authenticator_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
};

class ZeroMqClient final : public AcceptorClient {
 public:
  ZeroMqClient(const std::string& address, const Secret& secret)
      : context_(make_context()), socket_(make_client(context_)), monitor_(watch(context_, socket_, "client")) {
    const auto keys = keys_of(secret.key_for(kPurpose));
    encrypt_client(socket_, keys, keys.public_key);
    // Messages that wait for a connection are dropped at the end, because another client may be made in place of this
    // one.
    socket_.set(zmq::sockopt::linger, 0);
    try {
      socket_.connect(address);
    } catch (const zmq::error_t& error) {
      throw Error("rendezvous", address + " is no address: " + error.what());
    }
  }
  ~ZeroMqClient() override { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

  void send(std::span<const std::byte> bytes) override {
    if (bytes.size() > kMaxAcceptedBytes)
      throw Error("rendezvous", "the options that must be equal in all processes take " + std::to_string(bytes.size()) +
                                    " bytes, more than the limit of " + std::to_string(kMaxAcceptedBytes));
    (void)socket_.send(zmq::message_t(bytes.data(), bytes.size()), zmq::send_flags::dontwait);
  }

  std::optional<std::vector<std::byte>> receive(Acceptor::Deadline deadline) override {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    if (zmq::poll(&item, 1, until(deadline)) == 0) return std::nullopt;
    zmq::message_t first;
    (void)socket_.recv(first);
    receive_rest(socket_, first.more());
    return copied(bytes_of(first));
  }

  bool was_refused() override {
    while (const auto event = next_event(monitor_)) refused_ = refused_ || is_handshake_failure(*event);
    return refused_;
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  bool refused_ = false;
};

}  // namespace

std::unique_ptr<Acceptor> make_acceptor(const std::vector<std::string>& addresses, const Secret& secret,
                                        std::function<void(const std::string& line)> on_stranger) {
  return std::make_unique<ZeroMqAcceptor>(addresses, secret, std::move(on_stranger));
}

std::unique_ptr<AcceptorClient> connect_to_acceptor(const std::string& address, const Secret& secret) {
  return std::make_unique<ZeroMqClient>(address, secret);
}

}  // namespace troupe
