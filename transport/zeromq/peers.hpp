#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/transport/zeromq/assembly.hpp"
#include "troupe/transport/zeromq/connection.hpp"

// The peers of an endpoint, and the links over the connections to them.

namespace troupe::zeromq {

/// The receiving side of one link: the frames that have arrived, and the failure that ended the link. The I/O thread
/// fills it, the owner of the link empties it. Thread-safe.
class Channel {
 public:
  /// `max_bytes` bounds the payloads that wait in memory to be received.
  explicit Channel(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Adds a frame and calls the on_ready callback. Throws Error if more than `max_bytes` wait.
  void deliver(IncomingFrame frame);
  std::optional<IncomingFrame> receive();
  void on_ready(Link::OnReady callback);
  /// Ends the link: no further frame arrives. Only the first cause is kept.
  void fail(const FailurePtr& cause);
  /// Closes this end: frames that wait or still arrive are dropped.
  void close();
  bool is_closed() const;
  /// The cause that ended the link, once all frames were received; null before.
  FailurePtr failure() const;

 private:
  void wake();

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::deque<IncomingFrame> frames_;
  std::size_t bytes_ = 0;
  Link::OnReady on_ready_;
  FailurePtr failure_;
  bool closed_ = false;
};

/// Another endpoint, with the connection to it, which is made on first use, and the channels of the links over it. The
/// mutex of Peers guards it.
struct Peer {
  int number = 0;
  EndpointAddress address;
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Assembly> assembly;                          // used by the I/O thread alone
  std::map<std::uint64_t, std::shared_ptr<Channel>> channels;  // by the hash of the link's name
  std::set<std::uint64_t> linked;                              // channels of the links that were made at this end
};

/// The peers of one endpoint. They live as long as the endpoint. Thread-safe.
class Peers {
 public:
  /// `address` is this endpoint's address. `on_connection` is called, with the lock held, when a connection was made.
  Peers(zmq::context_t& context, const EndpointOptions& options, const EndpointAddress& address,
        std::function<void()> on_connection)
      : context_(context), options_(options), address_(address), on_connection_(std::move(on_connection)) {}

  /// Throws Error if the number is in use.
  void add(int number, const EndpointAddress& address);
  /// Gives the number of a failed peer to another endpoint. Throws Error if the number is not in use.
  void replace(int number, const EndpointAddress& address);
  /// Makes this end of a link, and the connection if it is the first. Throws Error if there is no such peer, or it has
  /// a link of that name already.
  std::shared_ptr<Link> link(int number, const std::string& name);

  /// Returns null if there is no such peer.
  Peer* find(int number);
  /// Finds the peer with that identity, and connects to it so that it can be answered. Returns null if there is none.
  Peer* sender(const std::string& identity);
  /// Finds the channel of a link, or makes it if the peer's frames arrive before this end is made.
  std::shared_ptr<Channel> channel(Peer& peer, std::uint64_t id);
  /// Peers with a connection, those that were replaced included.
  std::vector<Peer*> connected();
  /// Whether all connections are drained.
  bool drained();

  /// Ends a link that the peer has closed at its end.
  void closed_there(Peer& peer, std::uint64_t id);
  /// Fails the connection to a peer, or to every peer, and all links over it. Call it without a lock: callbacks of the
  /// links may call this object.
  void fail(Peer& peer, const FailurePtr& cause);
  void end(const FailurePtr& cause);

 private:
  void connect(Peer& peer);
  std::shared_ptr<Channel>& find_or_make_channel(Peer& peer, std::uint64_t id);

  zmq::context_t& context_;
  const EndpointOptions& options_;
  const EndpointAddress& address_;
  const std::function<void()> on_connection_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> replaced_;  // links may still hold their connections
  std::map<std::string, Peer*> by_identity_;
};

}  // namespace troupe::zeromq
