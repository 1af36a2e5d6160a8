#include "troupe/transport/zeromq/peers.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"

namespace troupe::zeromq {

namespace {

/// The id of a link: the hash of its name.
std::uint64_t channel_of(const std::string& name) {
  Hash hash;
  hash.add(name);
  return hash.digest();
}

}  // namespace

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
    const auto found = peers_.find(number);
    if (found == peers_.end()) throw Error("endpoint", "there is no peer " + std::to_string(number));
    replaced_.push_back(std::move(found->second));
    peers_.erase(found);
  }
  add(number, address);
}

std::shared_ptr<Link> Peers::link(int number, const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = peers_.find(number);
  if (found == peers_.end()) throw Error("endpoint", "there is no peer " + std::to_string(number));
  auto& peer = *found->second;
  connect(peer);
  const auto id = channel_of(name);
  if (!peer.linked.insert(id).second)
    throw Error("endpoint", "peer " + std::to_string(number) + " has a link '" + name + "' already");
  return std::make_shared<ChannelLink>(peer.connection, find_or_make_channel(peer, id), id);
}

Peer* Peers::find(int number) {
  std::lock_guard lock(mutex_);
  const auto found = peers_.find(number);
  return found != peers_.end() ? found->second.get() : nullptr;
}

Peer* Peers::sender(const std::string& identity) {
  std::lock_guard lock(mutex_);
  const auto found = by_identity_.find(identity);
  if (found == by_identity_.end()) return nullptr;
  connect(*found->second);
  return found->second;
}

std::shared_ptr<Channel> Peers::channel(Peer& peer, std::uint64_t id) {
  std::lock_guard lock(mutex_);
  return find_or_make_channel(peer, id);
}

std::shared_ptr<Channel>& Peers::find_or_make_channel(Peer& peer, std::uint64_t id) {
  auto& channel = peer.channels[id];
  if (!channel) channel = std::make_shared<Channel>(options_.max_unreceived_bytes);
  if (peer.connection->failure()) channel->fail(peer.connection->failure());
  return channel;
}

void Peers::connect(Peer& peer) {
  if (peer.connection) return;
  const bool same_host = options_.same_host && peer.address.host == own_.host;
  peer.connection = std::make_shared<Connection>(context_, own_.identity, peer.number, peer.address, same_host);
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
    // Links that are made later fail, too.
    connect(peer);
    connection = peer.connection;
    for (auto& [id, channel] : peer.channels) channels.push_back(channel);
  }
  if (connection) connection->fail(cause);
  for (auto& channel : channels) channel->fail(cause);
}

void Peers::end(const FailurePtr& cause) {
  for (auto* peer : connected()) {
    fail(*peer, cause);
    peer->connection->shut();
  }
}

}  // namespace troupe::zeromq
