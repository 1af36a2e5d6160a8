#include "troupe/transport/zeromq/peers.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/signals_blocked.hpp"
#include "troupe/transport/descriptors.hpp"

namespace troupe::zeromq {

namespace {

/// A link over a connection that it shares with the other links to the same peer. The destructor closes the link. The
/// connection is null if the peer has failed before there was one.
class ChannelLink final : public Link {
 public:
  ChannelLink(std::shared_ptr<Connection> connection, std::shared_ptr<Channel> channel, std::uint64_t id)
      : connection_(std::move(connection)), channel_(std::move(channel)), id_(id) {}
  ~ChannelLink() override {
    channel_->on_ready({});
    close();
  }

  bool send(const Frame& frame) override {
    return connection_ && !channel_->is_closed() && connection_->send(id_, frame);
  }
  std::optional<IncomingFrame> receive() override { return channel_->receive(); }
  void on_ready(OnReady callback) override { channel_->on_ready(std::move(callback)); }
  void close() override {
    if (channel_->is_closed()) return;
    const bool open = channel_->failure() == nullptr;
    channel_->close();
    if (open && connection_) connection_->close_channel(id_);
  }
  FailurePtr failure() const override { return channel_->failure(); }

 private:
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Channel> channel_;
  std::uint64_t id_;
};

}  // namespace

void Channel::deliver(IncomingFrame frame) {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || failure_) return;
    const auto bytes = frame.payload->local() != nullptr ? frame.payload->bytes() : 0;
    if (bytes_ + bytes > max_bytes_)
      throw Error("link", "more than " + std::to_string(max_bytes_) + " bytes have arrived and were not received");
    bytes_ += bytes;
    frames_.push_back(std::move(frame));
  }
  wake();
}

std::optional<IncomingFrame> Channel::receive() {
  std::lock_guard lock(mutex_);
  if (frames_.empty()) return std::nullopt;
  auto frame = std::move(frames_.front());
  frames_.pop_front();
  if (frame.payload->local() != nullptr) bytes_ -= frame.payload->bytes();
  return frame;
}

void Channel::on_ready(Link::OnReady callback) {
  bool ready = false;
  {
    std::lock_guard lock(mutex_);
    on_ready_ = std::move(callback);
    ready = failure_ || !frames_.empty();
  }
  if (ready) wake();
}

void Channel::fail(const FailurePtr& cause) {
  {
    std::lock_guard lock(mutex_);
    if (failure_ || closed_) return;
    failure_ = cause;
  }
  wake();
}

void Channel::close() {
  std::deque<IncomingFrame> frames;
  std::lock_guard lock(mutex_);
  closed_ = true;
  frames.swap(frames_);
}

bool Channel::is_closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

FailurePtr Channel::failure() const {
  std::lock_guard lock(mutex_);
  return frames_.empty() ? failure_ : nullptr;
}

void Channel::wake() {
  Link::OnReady callback;
  {
    std::lock_guard lock(mutex_);
    callback = on_ready_;
  }
  if (callback) callback();
}

void Peers::add(int number, const EndpointAddress& address) {
  std::lock_guard lock(mutex_);
  if (peers_.contains(number)) throw Error("endpoint", "peer " + std::to_string(number) + " is known already");
  auto peer = std::make_unique<Peer>();
  peer->number = number;
  peer->address = address;
  by_identity_[address.identity] = peer.get();
  peers_[number] = std::move(peer);
}

void Peers::replace(int number, const EndpointAddress& address) {
  {
    std::lock_guard lock(mutex_);
    const auto entry = peers_.find(number);
    if (entry == peers_.end()) throw Error("endpoint", "there is no peer " + std::to_string(number));
    replaced_.push_back(std::move(entry->second));
    peers_.erase(entry);
  }
  add(number, address);
}

std::shared_ptr<Link> Peers::link(int number, const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto entry = peers_.find(number);
  if (entry == peers_.end()) throw Error("endpoint", "there is no peer " + std::to_string(number));
  auto& peer = *entry->second;
  connect(peer);
  Hash hash_of_name;
  hash_of_name.add(name);
  const auto id = hash_of_name.digest();
  if (!peer.linked.insert(id).second)
    throw Error("endpoint", "peer " + std::to_string(number) + " has a link '" + name + "' already");
  return std::make_shared<ChannelLink>(peer.connection, find_or_make_channel(peer, id), id);
}

std::size_t Peers::size() {
  std::lock_guard lock(mutex_);
  return peers_.size() + replaced_.size();
}

bool Peers::has_key(const std::string& key) {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(peers_, [&](const auto& entry) { return entry.second->address.key == key; });
}

std::shared_ptr<Connection> Peers::connection(Peer& peer) {
  std::lock_guard lock(mutex_);
  connect(peer);
  return peer.connection;
}

bool Peers::has_failed(const Peer& peer) {
  std::lock_guard lock(mutex_);
  return failure_of(peer) != nullptr;
}

Peer* Peers::find(int number) {
  std::lock_guard lock(mutex_);
  const auto entry = peers_.find(number);
  return entry != peers_.end() ? entry->second.get() : nullptr;
}

Peer* Peers::sender(const std::string& identity) {
  std::lock_guard lock(mutex_);
  const auto entry = by_identity_.find(identity);
  return entry != by_identity_.end() ? entry->second : nullptr;
}

std::shared_ptr<Channel> Peers::channel(Peer& peer, std::uint64_t id) {
  std::lock_guard lock(mutex_);
  return find_or_make_channel(peer, id);
}

std::shared_ptr<Channel>& Peers::find_or_make_channel(Peer& peer, std::uint64_t id) {
  auto& channel = peer.channels[id];
  if (!channel) channel = std::make_shared<Channel>(options_.max_unreceived_bytes);
  if (const auto cause = failure_of(peer)) channel->fail(cause);
  return channel;
}

FailurePtr Peers::failure_of(const Peer& peer) {
  return peer.failure || !peer.connection ? peer.failure : peer.connection->failure();
}

void Peers::connect(Peer& peer) {
  if (peer.connection || peer.failure) return;
  // Two sockets with the two ends of a monitor, and the descriptors of both directions to the peer.
  require_descriptors(6, "endpoint", "a connection to process " + std::to_string(peer.number));
  // ZeroMQ's functions that make sockets fail when a signal interrupts them.
  const SignalsBlocked blocked;
  peer.connection = std::make_shared<Connection>(context_, own_, peer.number, peer.address, is_near(peer.address));
  peer.assembly =
      std::make_unique<Assembly>(peer.connection, options_.max_payload_bytes, options_.max_unreceived_bytes);
  on_connection_();
}

std::vector<Peer*> Peers::connected() {
  std::lock_guard lock(mutex_);
  std::vector<Peer*> connected;
  for (auto& [number, peer] : peers_)
    if (peer->connection) connected.push_back(peer.get());
  for (auto& peer : replaced_)
    if (peer->connection) connected.push_back(peer.get());
  return connected;
}

bool Peers::drained() {
  return std::ranges::all_of(connected(), [](const Peer* peer) { return peer->connection->drained(); });
}

void Peers::closed_there(Peer& peer, std::uint64_t id) {
  channel(peer, id)->fail(std::make_shared<Failure>(Failure{
      .kind = FailureKind::aborted, .what = "[link] process " + std::to_string(peer.number) + " has closed it"}));
}

void Peers::fail(Peer& peer, const FailurePtr& cause) {
  std::shared_ptr<Connection> connection;
  std::vector<std::shared_ptr<Channel>> channels;
  {
    std::lock_guard lock(mutex_);
    if (!peer.failure) peer.failure = cause;
    connection = peer.connection;
    for (auto& [id, channel] : peer.channels) channels.push_back(channel);
  }
  if (connection) connection->fail(cause);
  for (auto& channel : channels) channel->fail(cause);
}

void Peers::end(const FailurePtr& cause) {
  std::vector<Peer*> all;
  {
    std::lock_guard lock(mutex_);
    for (auto& [number, peer] : peers_) all.push_back(peer.get());
    for (auto& peer : replaced_) all.push_back(peer.get());
  }
  for (auto* peer : all) {
    fail(*peer, cause);
    if (peer->connection) peer->connection->shut();
  }
}

}  // namespace troupe::zeromq
