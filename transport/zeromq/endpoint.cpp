#include "troupe/transport/endpoint.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/secret.hpp"
#include "troupe/transport/zeromq/direct_memory.hpp"
#include "troupe/transport/zeromq/peers.hpp"
#include "troupe/transport/zeromq/reserved_tcp_port.hpp"

namespace troupe {

namespace {

using namespace zeromq;

/// After this time without events the I/O thread polls every connection: it looks for ended connections and
/// acknowledges the packets that have arrived. It then wakes drain().
constexpr std::chrono::milliseconds kIdle{50};

/// The items that the I/O thread polls before the monitors of the connections.
constexpr std::size_t kAuthenticatorItem = 2, kOwnItems = 3;
constexpr std::size_t kIdentityBytes = 16, kTokenKeyBytes = 32;
constexpr std::string_view kDefaultBind = "tcp://127.0.0.1:*";

/// A file descriptor (eventfd) by which signal() wakes a thread that polls it. Thread-safe.
class WakeUp {
 public:
  WakeUp() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw Error("endpoint", "no further file descriptor can be opened");
  }
  ~WakeUp() { ::close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  int descriptor() const { return descriptor_; }
  void signal() const { (void)!eventfd_write(descriptor_, 1); }
  void clear() const {
    eventfd_t count = 0;
    (void)!eventfd_read(descriptor_, &count);
  }

 private:
  int descriptor_;
};

/// An endpoint that receives the packets of all peers on one socket and one I/O thread. The Connection to each peer
/// sends packets, on the threads that call it.
class ZeroMqEndpoint final : public Endpoint {
 public:
  explicit ZeroMqEndpoint(EndpointOptions options)
      : options_(std::move(options)),
        context_(make_context()),
        authenticator_(context_, [this](const Authenticator::Proof& proof) { return admits(proof); }),
        receiver_(make_receiver(context_)),
        monitor_(watch(context_, receiver_, "receiver")) {
    keep_message_memory();
    own_.identity = address_.identity = random_hex(kIdentityBytes);
    own_.read_in_place = options_.read_in_place;
    if (options_.encrypt) own_.keys = random_keys();
    address_.key = own_.keys ? own_.keys->public_key : random_hex(kTokenKeyBytes);
    address_.host = host_identity();
    address_.pid = getpid();
    bind();
    io_thread_ = std::thread([this] { run_io(); });
  }

  ~ZeroMqEndpoint() override {
    stopping_ = true;
    wake_up_.signal();
    io_thread_.join();
    peers_.end(connection_failure("this process has closed its endpoint"));
    zmq_socket_monitor(receiver_.handle(), nullptr, 0);
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

  bool reaches(int number, std::chrono::milliseconds limit) override {
    const auto connection = peers_.connection(number);
    std::unique_lock lock(drain_mutex_);
    connected_.wait_for(lock, limit, [&] { return connection->connected() || connection->failure(); });
    return connection->connected();
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
    try {
      if (options_.same_host) {
        // An abstract Unix socket leaves no file behind, however the process ends. Its name is public on the machine.
        address_.ipc = "ipc://@troupe-" + random_hex(kIdentityBytes);
        receiver_.bind(address_.ipc);
      }
      if (options_.same_host && options_.bind == kDefaultBind) {
        // Processes of other users can connect to loopback, so no socket listens there before a peer needs it.
        reserved_.emplace();
        address_.tcp = reserved_->address();
      } else {
        receiver_.bind(options_.bind);
        address_.tcp = receiver_.get(zmq::sockopt::last_endpoint);
      }
    } catch (const zmq::error_t& error) {
      throw Error("endpoint", options_.bind + " cannot be bound: " + error.what());
    }
    if (options_.advertised_host.empty()) return;
    const auto port = address_.tcp.substr(address_.tcp.rfind(':'));
    address_.tcp = "tcp://" + options_.advertised_host + port;
  }

  /// Listens at the reserved TCP port if the peer at `address` cannot connect over ipc. Does not wait: the peer repeats
  /// its attempts to connect.
  void listen_for(const EndpointAddress& address) {
    if (peers_.is_near(address)) return;
    needs_tcp_ = true;
    wake_up_.signal();
  }

  bool admits(const Authenticator::Proof& proof) {
    if (own_.keys) return peers_.has_key(proof.key);
    const auto token = token_of(address_.key, proof.user);
    return equal_in_constant_time(std::as_bytes(std::span(proof.token)), std::as_bytes(std::span(token)));
  }

  // ---- Functions of the I/O thread

  void run_io() {
    std::vector<zmq::pollitem_t> items;
    while (!stopping_) {
      if (changed_.exchange(false) || items.empty()) items = poll_items();
      const auto ready = zmq::poll(items.data(), items.size(), kIdle);
      wake_up_.clear();
      if (needs_tcp_.exchange(false) && reserved_) reserved_->listen(receiver_);
      if ((items[kAuthenticatorItem].revents & ZMQ_POLLIN) != 0) authenticator_.answer();
      receive_packets();
      report_strangers();
      look_after_connections(items, ready == 0);
    }
  }

  std::vector<zmq::pollitem_t> poll_items() {
    std::vector<zmq::pollitem_t> items{{receiver_.handle(), 0, ZMQ_POLLIN, 0},
                                       {nullptr, wake_up_.descriptor(), ZMQ_POLLIN, 0},
                                       {authenticator_.socket().handle(), 0, ZMQ_POLLIN, 0}};
    polled_ = peers_.connected();
    for (auto* peer : polled_) items.push_back({peer->connection->monitor().handle(), 0, ZMQ_POLLIN, 0});
    return items;
  }

  void look_after_connections(const std::vector<zmq::pollitem_t>& items, bool idle) {
    for (std::size_t i = 0; i < polled_.size(); ++i) {
      if (!idle && (items[kOwnItems + i].revents & ZMQ_POLLIN) == 0) continue;
      auto& connection = *polled_[i]->connection;
      connection.poll(idle);
      if (const auto cause = connection.failure()) peers_.fail(*polled_[i], cause);
      const std::lock_guard lock(drain_mutex_);
      connected_.notify_all();
    }
    if (idle) drained_.notify_all();
  }

  void receive_packets() {
    // Receives at most 2 * kWindow packets per call, so that look_after_connections() runs soon.
    for (int i = 0; i < 2 * kWindow; ++i) {
      zmq::message_t identity;
      if (!receiver_.recv(identity, zmq::recv_flags::dontwait)) return;
      take(identity.to_string(), receive_rest(receiver_, identity.more()));
    }
  }

  void take(const std::string& identity, std::vector<zmq::message_t> parts) {
    Peer* peer = nullptr;
    try {
      peer = peers_.sender(identity);
    } catch (const Error& error) {
      if (options_.on_stranger) options_.on_stranger(error.what());
      return;
    }
    if (peer == nullptr) return report_stranger("is not known here");
    if (peer->connection->failure()) return;
    try {
      if (parts.size() != 2) throw Error("link", std::to_string(parts.size()) + " parts came instead of two");
      take_packet(*peer, std::move(parts));
    } catch (const std::exception& error) {
      const auto cause =
          connection_failure("what process " + std::to_string(peer->number) + " sent is damaged: " + error.what());
      peer->connection->give_up(cause);
      peers_.fail(*peer, cause);
    }
  }

  void take_packet(Peer& peer, std::vector<zmq::message_t> parts) {
    const auto start = decode_packet(bytes_of(parts[0]));
    const auto type = start.header.type;
    if (type == PacketType::given_up)
      return peers_.fail(
          peer, connection_failure("process " + std::to_string(peer.number) + " takes nothing more from this one"));
    const bool names_memory = type == PacketType::nonce_written;
    peer.connection->note_received(start.header, names_memory ? sending_process(parts[0]) : std::nullopt);
    if (type == PacketType::channel_closed) return peers_.closed_there(peer, start.header.channel);
    if (type != PacketType::frame && type != PacketType::chunk) return;
    if (auto frame = peer.assembly->add(start, std::move(parts[1])))
      peers_.channel(peer, start.header.channel)->deliver(std::move(*frame));
  }

  /// Reads the events of the receiver, at most once in kIdle: each polled socket costs time in every round.
  void report_strangers() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_report_) return;
    next_report_ = now + kIdle;
    while (const auto event = next_event(monitor_))
      if (*event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED && *event != ZMQ_EVENT_DISCONNECTED)
        report_stranger("does not prove that it belongs to the job");
  }

  void report_stranger(const std::string& reason) {
    if (options_.on_stranger) options_.on_stranger("[endpoint] a process that " + reason + " has connected; ignored");
  }

  const EndpointOptions options_;
  EndpointAddress address_;
  OwnEnd own_;
  WakeUp wake_up_;
  zmq::context_t context_;
  Authenticator authenticator_;
  zmq::socket_t receiver_;
  zmq::socket_t monitor_;
  std::optional<ReservedTcpPort> reserved_;
  Peers peers_{context_, options_, address_, own_, [this] {
                 changed_ = true;
                 wake_up_.signal();
               }};
  std::mutex drain_mutex_;
  std::condition_variable drained_, connected_;
  std::chrono::steady_clock::time_point next_report_{};
  std::vector<Peer*> polled_;  // peers whose monitor sockets the I/O thread polls; used by that thread alone
  std::atomic<bool> changed_{true};
  std::atomic<bool> needs_tcp_{false};
  std::atomic<bool> stopping_{false};
  std::thread io_thread_;
};

}  // namespace

std::shared_ptr<Endpoint> make_zeromq_endpoint(EndpointOptions options) {
  return std::make_shared<ZeroMqEndpoint>(std::move(options));
}

}  // namespace troupe
