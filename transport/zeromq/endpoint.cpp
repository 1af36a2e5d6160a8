#include "troupe/transport/endpoint.hpp"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <optional>
#include <span>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/signals_blocked.hpp"
#include "troupe/transport/descriptors.hpp"
#include "troupe/transport/secret.hpp"
#include "troupe/transport/zeromq/direct_memory.hpp"
#include "troupe/transport/zeromq/incoming.hpp"
#include "troupe/transport/zeromq/listeners.hpp"
#include "troupe/transport/zeromq/peers.hpp"
#include "troupe/transport/zeromq/wake_up.hpp"

namespace troupe {

namespace {

using namespace zeromq;

/// After this time without events the I/O thread polls every connection: it looks for ended connections and
/// acknowledges the packets that have arrived. It then wakes drain().
constexpr std::chrono::milliseconds kIdle{50};
/// The additional time without a packet that a peer on another machine may take, see EndpointOptions::silence_limit.
constexpr std::chrono::milliseconds kFarAllowance{16'000};

/// The items that the I/O thread polls before the monitors of the connections.
constexpr std::size_t kAuthenticatorItem = 2, kIncomingItem = 3, kOwnItems = 4;
/// The number of connections from processes of other machines that may be open besides those of the peers.
constexpr std::size_t kMaxStrangers = 8;

constexpr std::size_t kIdentityBytes = 16, kTokenKeyBytes = 32;

/// An endpoint that receives the packets of all peers on one socket and one I/O thread. The Connection to each peer
/// sends packets, on the threads that call it.
class ZeroMqEndpoint final : public Endpoint {
 public:
  explicit ZeroMqEndpoint(EndpointOptions options)
      : options_(std::move(options)),
        context_(make_context()),
        authenticator_(context_, [this](const Authenticator::Proof& proof) { return admits(proof); }),
        receiver_(make_receiver(context_, options_.encrypt ? kEncryptedPacketBytes : kPacketBytes)),
        incoming_(
            context_, receiver_, "receiver", [this] { return peers_.size() + kMaxStrangers; },
            [this](const std::string& reason) { report_stranger(reason); }) {
    keep_message_memory();
    own_.identity = address_.identity = random_hex(kIdentityBytes);
    own_.read_in_place = options_.read_in_place;
    if (options_.encrypt) own_.keys = random_keys();
    address_.key = own_.keys ? own_.keys->public_key : random_hex(kTokenKeyBytes);
    address_.host = host_identity();
    address_.pid = getpid();
    bind();
    const SignalsBlocked blocked;
    io_thread_ = std::thread([this] {
      set_float_mode(kDefaultFloatMode);
      run_io();
    });
  }

  ~ZeroMqEndpoint() override {
    stopping_ = true;
    wake_up_.signal();
    io_thread_.join();
    peers_.end(connection_failure("this process has closed its endpoint"));
  }

  const EndpointAddress& address() const override { return address_; }

  void add_peer(int number, const EndpointAddress& address) override {
    peers_.add(number, address);
    listen_for(address);
  }
  void replace_peer(int number, const EndpointAddress& address) override {
    fail_peer(number, connection_failure("another process has come in its place"));
    peers_.replace(number, address);
    listen_for(address);
  }
  std::shared_ptr<Link> link(int number, const std::string& name) override { return peers_.link(number, name); }
  void fail_peer(int number, const FailurePtr& cause) override {
    if (auto* peer = peers_.find(number)) peers_.fail(*peer, cause);
  }

  Contact reach(int number, std::chrono::milliseconds limit) override {
    auto* const peer = peers_.find(number);
    if (peer == nullptr) throw Error("endpoint", "there is no peer " + std::to_string(number));
    const auto connection = peers_.connection(*peer);
    if (!connection) return Contact::failed;
    std::unique_lock lock(drain_mutex_);
    connected_.wait_for(lock, limit, [&] { return connection->connected() || connection->failure(); });
    if (connection->failure()) return Contact::failed;
    return connection->connected() ? Contact::accepted : Contact::pending;
  }

  bool drain(std::chrono::milliseconds limit) override {
    std::unique_lock lock(drain_mutex_);
    return drained_.wait_for(lock, limit, [this] { return peers_.drained(); });
  }

 private:
  void bind() {
    if (own_.keys)
      encrypt_server(receiver_, *own_.keys);
    else
      ask_for_token(receiver_);
    refuse_other_users(receiver_);
    incoming_.bind([this] { listeners_.emplace(receiver_, options_, address_); });
  }

  /// Listens at the reserved TCP port if the peer at `address` cannot connect over ipc. Does not wait: the peer repeats
  /// its attempts to connect.
  void listen_for(const EndpointAddress& address) {
    if (peers_.is_near(address)) return;
    needs_tcp_ = true;
    wake_up_.signal();
  }

  bool admits(const Authenticator::Proof& proof) {
    const auto token = token_of(address_.key, proof.user);
    const bool proved =
        own_.keys ? peers_.has_key(proof.key)
                  : equal_in_constant_time(std::as_bytes(std::span(proof.token)), std::as_bytes(std::span(token)));
    if (proved) incoming_.admit();
    return proved;
  }

  // ---- Functions of the I/O thread

  /// Without this thread no frame arrives, so an exception fails all links.
  void run_io() {
    try {
      while (!stopping_) do_io();
    } catch (const std::exception& error) {
      peers_.end(connection_failure(std::string("this process cannot receive: ") + error.what()));
    }
  }

  void do_io() {
    if (changed_.exchange(false) || items_.empty()) items_ = own_items_and_monitors();
    const auto ready = poll_items(items_, kIdle);
    wake_up_.clear();
    if (needs_tcp_.exchange(false)) incoming_.bind([this] { listeners_->listen_at_tcp(); });
    if ((items_[kIncomingItem].revents & ZMQ_POLLIN) != 0) incoming_.look();
    if ((items_[kAuthenticatorItem].revents & ZMQ_POLLIN) != 0) authenticator_.answer();
    receive_packets();
    look_after_connections(ready == 0);
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look_) look_at_descriptors(now);
    if (options_.silence_limit.count() <= 0 || now < next_beat_) return;
    next_beat_ = now + options_.beat_interval;
    beat();
  }

  /// Looks at most once in kIdle, because a look costs four calls of the kernel.
  void look_at_descriptors(std::chrono::steady_clock::time_point now) {
    next_look_ = now + kIdle;
    const auto line = keep_descriptors();
    if (line && options_.on_stranger) options_.on_stranger("[endpoint] " + *line);
  }

  /// Sends a beat to every connected peer, and loses those that are silent.
  void beat() {
    for (auto* peer : polled_) {
      if (peers_.has_failed(*peer)) continue;
      peer->connection->beat();
      peer->silence += options_.beat_interval;
      const bool same_machine = peer->address.host == address_.host;
      if (peer->silence <= options_.silence_limit + (same_machine ? std::chrono::milliseconds(0) : kFarAllowance))
        continue;
      const auto cause = connection_failure("no data from process " + std::to_string(peer->number) +
                                                " has arrived for " + std::to_string(peer->silence.count()) + " ms",
                                            peer->number);
      peer->connection->give_up(cause);
      lose(*peer, cause);
    }
  }

  void lose(Peer& peer, const FailurePtr& cause) {
    peers_.fail(peer, cause);
    if (options_.on_lost) options_.on_lost(peer.number, peer.address, cause);
  }

  std::vector<zmq::pollitem_t> own_items_and_monitors() {
    std::vector<zmq::pollitem_t> items{{receiver_.handle(), 0, ZMQ_POLLIN, 0},
                                       {nullptr, wake_up_.descriptor(), ZMQ_POLLIN, 0},
                                       {authenticator_.socket().handle(), 0, ZMQ_POLLIN, 0},
                                       {incoming_.events().handle(), 0, ZMQ_POLLIN, 0}};
    polled_ = peers_.connected();
    for (auto* peer : polled_) items.push_back({peer->connection->monitor().handle(), 0, ZMQ_POLLIN, 0});
    return items;
  }

  void look_after_connections(bool idle) {
    for (std::size_t i = 0; i < polled_.size(); ++i) {
      if (!idle && (items_[kOwnItems + i].revents & ZMQ_POLLIN) == 0) continue;
      if (const auto cause = polled_[i]->connection->poll(idle)) lose(*polled_[i], cause);
      const std::lock_guard lock(drain_mutex_);
      connected_.notify_all();
    }
    if (idle) drained_.notify_all();
  }

  void receive_packets() {
    // Receives at most 2 * kWindow packets per call, so that look_after_connections() runs soon.
    for (int i = 0; i < 2 * kWindow; ++i) {
      zmq::message_t identity;
      if (!try_receive(receiver_, identity)) return;
      take(identity.to_string(), receive_rest(receiver_, identity.more()));
    }
  }

  void take(const std::string& identity, std::vector<zmq::message_t> parts) {
    auto* const peer = peers_.sender(identity);
    if (peer == nullptr) return report_stranger("a process that is not known here has connected");
    if (peers_.has_failed(*peer) || !can_answer(*peer)) return;
    peer->silence = std::chrono::milliseconds(0);
    try {
      if (parts.size() != 2) throw Error("link", std::to_string(parts.size()) + " parts came instead of two");
      take_packet(*peer, std::move(parts));
    } catch (const std::exception& error) {
      const auto cause = connection_failure(
          "what process " + std::to_string(peer->number) + " sent is damaged: " + error.what(), peer->number);
      peer->connection->give_up(cause);
      lose(*peer, cause);
    }
  }

  /// Connects to a peer that has sent a packet, so that this endpoint can acknowledge it. Loses the peer, and returns
  /// false, if no connection can be made.
  bool can_answer(Peer& peer) {
    try {
      return peers_.connection(peer) != nullptr;
    } catch (const Error& error) {
      lose(peer, connection_failure(error.what(), peer.number));
      return false;
    }
  }

  void take_packet(Peer& peer, std::vector<zmq::message_t> parts) {
    const auto start = decode_packet(bytes_of(parts[0]));
    const auto type = start.header.type;
    if (type == PacketType::given_up)
      return lose(peer,
                  connection_failure("process " + std::to_string(peer.number) + " takes nothing more from this one",
                                     peer.number));
    const bool names_memory = type == PacketType::nonce_written;
    peer.connection->note_received(start.header, names_memory ? sending_process(parts[0]) : std::nullopt);
    if (type == PacketType::channel_closed) return peers_.closed_there(peer, start.header.channel);
    if (type != PacketType::frame && type != PacketType::chunk) return;
    if (auto frame = peer.assembly->add(start, std::move(parts[1])))
      peers_.channel(peer, start.header.channel)->deliver(std::move(*frame));
  }

  void report_stranger(const std::string& reason) {
    if (options_.on_stranger) options_.on_stranger("[endpoint] " + reason + "; ignored");
  }

  const EndpointOptions options_;
  EndpointAddress address_;
  OwnEnd own_;
  WakeUp wake_up_;
  zmq::context_t context_;
  Authenticator authenticator_;
  zmq::socket_t receiver_;
  Incoming incoming_;
  std::optional<Listeners> listeners_;
  Peers peers_{context_, options_, address_, own_, [this] {
                 changed_ = true;
                 wake_up_.signal();
               }};
  std::mutex drain_mutex_;
  std::condition_variable drained_, connected_;
  // The next three members are used by the I/O thread alone: peers whose monitor sockets the thread polls, the items
  // that it polls, and the times of the next beats and of the next look at the file descriptors.
  std::vector<Peer*> polled_;
  std::vector<zmq::pollitem_t> items_;
  std::chrono::steady_clock::time_point next_beat_{}, next_look_{};
  std::atomic<bool> changed_{true};
  std::atomic<bool> needs_tcp_{false};
  std::atomic<bool> stopping_{false};
  std::thread io_thread_;
};

}  // namespace

std::shared_ptr<Endpoint> make_zeromq_endpoint(EndpointOptions options) {
  // ZeroMQ's functions that make sockets fail when a signal interrupts them.
  const SignalsBlocked blocked;
  return std::make_shared<ZeroMqEndpoint>(std::move(options));
}

}  // namespace troupe
