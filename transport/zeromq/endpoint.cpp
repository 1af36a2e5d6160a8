#include "troupe/transport/endpoint.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/assembly.hpp"
#include "troupe/transport/zeromq/channel.hpp"
#include "troupe/transport/zeromq/connection.hpp"
#include "troupe/transport/zeromq/direct_memory.hpp"

namespace troupe {

namespace {

using namespace zeromq;

constexpr std::chrono::milliseconds kIdle{50};
constexpr std::uint64_t kFnvBasis = 0xCBF29CE484222325, kFnvPrime = 0x100000001B3;

/// The number under which a link travels: FNV-1a of its name.
std::uint64_t channel_of(const std::string& name) {
  auto hash = kFnvBasis;
  for (const unsigned char c : name) hash = (hash ^ c) * kFnvPrime;
  return hash;
}

std::string random_identity() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 32; ++i) text += kDigits[random() % 16];
  return text;
}

/// A file descriptor that wakes a thread that polls.
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

/// One peer as the courier knows it.
struct Peer {
  int number = 0;
  EndpointAddress address;
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Assembly> assembly;
  std::map<std::uint64_t, std::shared_ptr<Channel>> channels;
  std::set<std::uint64_t> closed_there;
};

class ZeroMqEndpoint final : public Endpoint {
 public:
  explicit ZeroMqEndpoint(EndpointOptions options)
      : options_(std::move(options)),
        context_(make_context()),
        receiver_(make_receiver(context_)),
        monitor_(watch(context_, receiver_, "receiver")) {
    address_.identity = random_identity();
    address_.host = host_identity();
    if (options_.same_host) offer_memory(address_);
    bind();
    courier_ = std::thread([this] { deliver_packets(); });
  }

  ~ZeroMqEndpoint() override {
    stopping_ = true;
    wake_up_.signal();
    courier_.join();
    const auto cause = connection_failure("this process has closed its endpoint");
    for (auto& [number, peer] : peers_) {
      fail(*peer, cause);
      if (peer->connection) peer->connection->shut();
    }
    zmq_socket_monitor(receiver_.handle(), nullptr, 0);
  }

  const EndpointAddress& address() const override { return address_; }

  void add_peer(int number, const EndpointAddress& address) override {
    std::lock_guard lock(mutex_);
    if (peers_.contains(number)) throw Error("endpoint", "peer " + std::to_string(number) + " is known already");
    auto peer = std::make_unique<Peer>();
    peer->number = number;
    peer->address = address;
    by_identity_[address.identity] = peer.get();
    peers_[number] = std::move(peer);
  }

  std::shared_ptr<Link> link(int number, const std::string& name) override {
    std::lock_guard lock(mutex_);
    const auto found = peers_.find(number);
    if (found == peers_.end()) throw Error("endpoint", "there is no peer " + std::to_string(number));
    auto& peer = *found->second;
    connect(peer);
    const auto id = channel_of(name);
    if (!linked_.emplace(number, id).second)
      throw Error("endpoint", "peer " + std::to_string(number) + " has a link '" + name + "' already");
    return std::make_shared<ChannelLink>(peer.connection, channel(peer, id), id);
  }

  void fail_peer(int number, const FailurePtr& cause) override {
    Peer* peer = nullptr;
    {
      std::lock_guard lock(mutex_);
      const auto found = peers_.find(number);
      if (found == peers_.end()) return;
      peer = found->second.get();
    }
    fail(*peer, cause);
  }

  bool drain(std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    return drained_.wait_for(lock, limit, [this] {
      return std::ranges::all_of(
          peers_, [](const auto& peer) { return !peer.second->connection || peer.second->connection->drained(); });
    });
  }

 private:
  void bind() {
    try {
      receiver_.bind(options_.bind);
      address_.tcp = receiver_.get(zmq::sockopt::last_endpoint);
      if (options_.same_host) {
        // Without a file: nothing is left behind, whatever becomes of the process.
        address_.ipc = "ipc://@troupe-" + address_.identity;
        receiver_.bind(address_.ipc);
      }
    } catch (const zmq::error_t& error) {
      throw Error("endpoint", options_.bind + " cannot be bound: " + error.what());
    }
    if (options_.advertised_host.empty()) return;
    const auto port = address_.tcp.substr(address_.tcp.rfind(':'));
    address_.tcp = "tcp://" + options_.advertised_host + port;
  }

  std::shared_ptr<Channel>& channel(Peer& peer, std::uint64_t id) {
    auto& channel = peer.channels[id];
    if (!channel) channel = std::make_shared<Channel>(options_.max_unreceived_bytes);
    if (peer.closed_there.contains(id)) channel->fail(closed_by(peer));
    if (peer.connection->failure()) channel->fail(peer.connection->failure());
    return channel;
  }

  static FailurePtr closed_by(const Peer& peer) {
    return std::make_shared<Failure>(Failure{
        .kind = FailureKind::aborted, .what = "[link] process " + std::to_string(peer.number) + " has closed it"});
  }

  void connect(Peer& peer) {
    if (peer.connection) return;
    const bool same_host = options_.same_host && peer.address.host == address_.host;
    peer.connection = std::make_shared<Connection>(context_, address_.identity, peer.number, peer.address, same_host);
    peer.assembly =
        std::make_unique<Assembly>(peer.connection, options_.max_payload_bytes, options_.max_unreceived_bytes);
    changed_ = true;
    wake_up_.signal();
  }

  void give_up(Peer& peer, const FailurePtr& cause) {
    peer.connection->give_up(cause);
    fail(peer, cause);
  }

  /// Without the lock: whoever is told may come back.
  void fail(Peer& peer, const FailurePtr& cause) {
    std::vector<std::shared_ptr<Channel>> channels;
    {
      std::lock_guard lock(mutex_);
      for (auto& [id, channel] : peer.channels) channels.push_back(channel);
    }
    if (peer.connection) peer.connection->fail(cause);
    for (auto& channel : channels) channel->fail(cause);
  }

  // ---- the courier's thread

  void deliver_packets() {
    std::vector<zmq::pollitem_t> items;
    while (!stopping_) {
      if (changed_.exchange(false) || items.empty()) items = poll_items();
      const auto ready = zmq::poll(items.data(), items.size(), kIdle);
      wake_up_.clear();
      receive_packets();
      look_after_connections(items, ready == 0);
    }
  }

  std::vector<zmq::pollitem_t> poll_items() {
    std::lock_guard lock(mutex_);
    std::vector<zmq::pollitem_t> items{{receiver_.handle(), 0, ZMQ_POLLIN, 0},
                                       {nullptr, wake_up_.descriptor(), ZMQ_POLLIN, 0},
                                       {monitor_.handle(), 0, ZMQ_POLLIN, 0}};
    polled_.clear();
    for (auto& [number, peer] : peers_) {
      if (!peer->connection) continue;
      items.push_back({peer->connection->monitor().handle(), 0, ZMQ_POLLIN, 0});
      polled_.push_back(peer.get());
    }
    return items;
  }

  void look_after_connections(const std::vector<zmq::pollitem_t>& items, bool idle) {
    constexpr std::size_t kOwnItems = 3;
    SocketEvent event;
    while (next_event(monitor_, event))
      if (event.event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED && event.event != ZMQ_EVENT_DISCONNECTED)
        report_stranger("does not speak ZeroMQ");
    for (std::size_t i = 0; i < polled_.size(); ++i) {
      if (!idle && (items[kOwnItems + i].revents & ZMQ_POLLIN) == 0) continue;
      auto& connection = *polled_[i]->connection;
      connection.poll(idle);
      if (const auto cause = connection.failure()) fail(*polled_[i], cause);
    }
    if (idle) drained_.notify_all();
  }

  void receive_packets() {
    // What takes long must not keep the connections waiting.
    for (int i = 0; i < 2 * kWindow; ++i) {
      zmq::message_t identity;
      if (!receiver_.recv(identity, zmq::recv_flags::dontwait)) return;
      std::vector<zmq::message_t> parts;
      bool more = identity.more();
      while (more) {
        zmq::message_t part;
        (void)receiver_.recv(part);
        more = part.more();
        if (parts.size() < 3) parts.push_back(std::move(part));
      }
      take(identity.to_string(), std::move(parts));
    }
  }

  void take(const std::string& identity, std::vector<zmq::message_t> parts) {
    Peer* peer = nullptr;
    {
      std::lock_guard lock(mutex_);
      const auto found = by_identity_.find(identity);
      if (found != by_identity_.end()) peer = found->second;
      if (peer != nullptr) connect(*peer);
    }
    if (peer == nullptr) return report_stranger("is not known here");
    if (peer->connection->failure()) return;
    try {
      if (parts.size() != 2) throw Error("link", std::to_string(parts.size()) + " parts came instead of two");
      take_packet(*peer, std::move(parts));
    } catch (const std::exception& error) {
      give_up(*peer,
              connection_failure("what process " + std::to_string(peer->number) + " sent is damaged: " + error.what()));
    }
  }

  void take_packet(Peer& peer, std::vector<zmq::message_t> parts) {
    const auto start = decode_packet({static_cast<const std::byte*>(parts[0].data()), parts[0].size()});
    if (start.header.type == PacketType::given_up)
      return fail(peer,
                  connection_failure("process " + std::to_string(peer.number) + " takes nothing more from this one"));
    peer.connection->note_received(start.header);
    switch (start.header.type) {
      case PacketType::frame:
      case PacketType::chunk: {
        auto frame = peer.assembly->add(start, std::move(parts[1]));
        if (!frame) return;
        channel_for(peer, start.header.channel)->deliver(std::move(*frame));
        return;
      }
      case PacketType::channel_closed: {
        const auto channel = channel_for(peer, start.header.channel);
        {
          std::lock_guard lock(mutex_);
          peer.closed_there.insert(start.header.channel);
        }
        channel->fail(closed_by(peer));
        return;
      }
      default:
        return;
    }
  }

  std::shared_ptr<Channel> channel_for(Peer& peer, std::uint64_t id) {
    std::lock_guard lock(mutex_);
    return channel(peer, id);
  }

  void report_stranger(const std::string& what) {
    if (options_.on_stranger) options_.on_stranger("[endpoint] somebody who " + what + " has connected; ignored");
  }

  const EndpointOptions options_;
  EndpointAddress address_;
  WakeUp wake_up_;
  zmq::context_t context_;
  zmq::socket_t receiver_;
  zmq::socket_t monitor_;
  std::mutex mutex_;
  std::condition_variable drained_;
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::map<std::string, Peer*> by_identity_;
  std::set<std::pair<int, std::uint64_t>> linked_;
  std::vector<Peer*> polled_;  // of the courier
  std::atomic<bool> changed_{true};
  std::atomic<bool> stopping_{false};
  std::thread courier_;
};

}  // namespace

std::shared_ptr<Endpoint> make_zeromq_endpoint(EndpointOptions options) {
  return std::make_shared<ZeroMqEndpoint>(std::move(options));
}

}  // namespace troupe
