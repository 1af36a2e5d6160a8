#pragma once

#include <chrono>
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

// The peers of an endpoint, the connections to them, and the links over these connections.

namespace troupe::zeromq {

/// The receiving side of one link: the frames that have arrived, and the failure that ended the link. The endpoint's
/// I/O thread adds frames, the owner of the link receives them. Thread-safe.
class Channel {
 public:
  /// `max_bytes` limits the sum, in bytes, of the payloads in memory of this process that wait to be received.
  explicit Channel(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Adds a frame and calls the on_ready callback; drops the frame if the link is closed or has failed. Throws Error if
  /// more than `max_bytes` bytes would wait.
  void deliver(IncomingFrame frame);
  std::optional<IncomingFrame> receive();
  void on_ready(Link::OnReady callback);
  /// Ends the link with `cause`, after which no further frame arrives, and calls the on_ready callback. Does nothing if
  /// the link has failed or is closed.
  void fail(const FailurePtr& cause);
  /// Closes this end: frames that wait to be received, and frames that still arrive, are dropped.
  void close();
  bool is_closed() const;
  /// Returns the cause with which fail() ended the link; null if it did not, or while frames wait to be received.
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

/// Another endpoint, the connection to it, and the channels of the links over this connection. `connection` and
/// `assembly` are null before the first use of the peer. The mutex of Peers guards all members but `assembly` and
/// `silence`, which the I/O thread alone uses.
struct Peer {
  int number = 0;
  EndpointAddress address;
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Assembly> assembly;
  std::chrono::milliseconds silence{0};                        // time without a packet, in whole intervals
  FailurePtr failure;                                          // set by Peers::fail()
  std::map<std::uint64_t, std::shared_ptr<Channel>> channels;  // by the hash of the link's name
  std::set<std::uint64_t> linked;                              // keys in `channels` of the links that link() has made
};

/// The peers of one endpoint. A Peer lives as long as this object, even if it was replaced. Thread-safe.
class Peers {
 public:
  /// Keeps references to all arguments but the last; `address` and `own` are those of this endpoint. `on_connection` is
  /// called when a connection is made, while this object's mutex is held; it must not call this object.
  Peers(zmq::context_t& context, const EndpointOptions& options, const EndpointAddress& address, const OwnEnd& own,
        std::function<void()> on_connection)
      : context_(context), options_(options), address_(address), own_(own), on_connection_(std::move(on_connection)) {}

  /// Adds the endpoint at `address` as peer `number`, without connecting to it. Throws Error if the number is in use.
  void add(int number, const EndpointAddress& address);
  /// Gives the number of a failed peer to another endpoint, as a new Peer without connection and links. Throws Error if
  /// the number is not in use.
  void replace(int number, const EndpointAddress& address);
  /// Makes this end of the link `name` to peer `number`, and the connection to the peer if there is none. Throws Error
  /// if no peer has that number, or if link() has made a link of that name to the peer before, even if that link is
  /// closed.
  std::shared_ptr<Link> link(int number, const std::string& name);

  /// Whether a peer is reached over ipc, because its endpoint is on this host.
  bool is_near(const EndpointAddress& address) const { return options_.same_host && address.host == address_.host; }
  /// The number of peers, including replaced ones.
  std::size_t size();
  /// Whether a peer, replaced ones excluded, has that key in its address.
  bool has_key(const std::string& key);
  /// Returns the connection to a peer, which is made if there is none; null if the peer has failed before there was
  /// one. Throws Error if too few file descriptors are left.
  std::shared_ptr<Connection> connection(Peer& peer);
  /// Returns whether the peer, or the connection to it, has failed.
  bool has_failed(const Peer& peer);
  /// Returns the peer of that number, or null.
  Peer* find(int number);
  /// Returns the peer whose endpoint has that identity, or null.
  Peer* sender(const std::string& identity);
  /// Returns channel `id` of a peer. Makes the channel if there is none, because frames may arrive before link() is
  /// called at this end.
  std::shared_ptr<Channel> channel(Peer& peer, std::uint64_t id);
  /// Returns the peers that have a connection, including replaced ones.
  std::vector<Peer*> connected();
  /// Whether every connection has failed or is drained: no message waits to be sent, and the peer has acknowledged all
  /// packets and read all payloads.
  bool drained();

  /// Fails channel `id` with a failure of the kind `aborted`, because the peer has closed its end of the link.
  void closed_there(Peer& peer, std::uint64_t id);
  /// Fails the connection to a peer, if there is one, and all links to it, links that are made later included. Must be
  /// called without a lock that the callbacks of the links take; the callbacks may call this object.
  void fail(Peer& peer, const FailurePtr& cause);
  /// Fails all peers and their links, and closes the sockets. Links that are made later have failed, too.
  void end(const FailurePtr& cause);

 private:
  /// Returns why the peer has failed, or null.
  static FailurePtr failure_of(const Peer& peer);
  /// Connects to a peer that has neither a connection nor failed. The caller must hold mutex_.
  void connect(Peer& peer);
  std::shared_ptr<Channel>& find_or_make_channel(Peer& peer, std::uint64_t id);

  zmq::context_t& context_;
  const EndpointOptions& options_;
  const EndpointAddress& address_;
  const OwnEnd& own_;
  const std::function<void()> on_connection_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> replaced_;  // kept because by_identity_ and the I/O thread may refer to them
  std::map<std::string, Peer*> by_identity_;
};

}  // namespace troupe::zeromq
