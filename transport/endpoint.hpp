#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "troupe/transport/link.hpp"

namespace troupe {

/// The addresses of an endpoint, and the facts about its process that other processes need.
struct EndpointAddress {
  std::string tcp;       ///< tcp://host:port
  std::string ipc;       ///< ZeroMQ address for processes of the same host; empty if none is bound
  std::string identity;  ///< 32 random hexadecimal digits
  /// The key with which peers connect: if the endpoint encrypts, its public key (CURVE), else a random text from which
  /// each peer derives a token of its own. Only the processes of the job may get this key.
  std::string key;
  std::string host;      ///< equal for processes that share a kernel, a network namespace and a pid namespace
  std::int64_t pid = 0;  ///< for texts

  bool operator==(const EndpointAddress&) const = default;
};

struct EndpointOptions {
  /// The address to bind, tcp://address:port; the port `*` stands for a free port. At the default address, an endpoint
  /// with `same_host` listens only from the time on at which add_peer() has added a process of another host.
  std::string bind = "tcp://127.0.0.1:*";
  /// The host name or address that address() names in place of the bound one; if empty, address() names the bound one.
  std::string advertised_host = {};
  /// The largest payload, in bytes. A peer that sends a larger one is cut off: its links fail.
  std::size_t max_payload_bytes = std::size_t{1} << 32;
  /// The limit, in bytes, of arrived payloads that lie in this process's memory and that Link::receive() has not
  /// returned yet: per link for whole frames, and per peer for frames that have arrived in part. A peer that sends more
  /// is cut off.
  std::size_t max_unreceived_bytes = std::size_t{1} << 30;
  /// Whether all connections are encrypted (CURVE), and both ends prove the keys of their addresses. Otherwise the
  /// connecting end shows its token (PLAIN), and data is not encrypted. In both cases ZeroMQ closes other connections
  /// before their first message.
  bool encrypt = false;
  /// If false, payloads are never read directly in the memory of another process, and no ipc address is bound.
  bool same_host = true;
  /// If false, payloads are never read directly in the memory of another process. Otherwise processes of the same user
  /// on the same host read large payloads so, and if the kernel's security module Yama restricts such reads to
  /// ancestors, the endpoint exempts its process from that restriction, for all processes of the user.
  bool read_in_place = true;
  /// If `silence_limit` is positive, the endpoint sends every connected peer a packet once per `beat_interval`, and
  /// loses a peer from which no packet has arrived for longer than the limit. The time is counted in intervals of the
  /// receiving thread. For a peer on another machine the limit is 16 s longer, the time that the largest packet takes
  /// at 2 Mbit/s.
  std::chrono::milliseconds beat_interval{250};
  std::chrono::milliseconds silence_limit{0};
  /// Called, on the endpoint's receiving thread, once for each peer whose connection ends by itself: it breaks, falls
  /// silent, cannot be made for lack of file descriptors, or a damaged packet arrives. The links to the peer have
  /// failed then. `address` is the address of the peer.
  std::function<void(int peer, const EndpointAddress& address, const FailurePtr& cause)> on_lost = {};
  /// Called, on the endpoint's receiving thread, with one line for each connection without a valid proof, and each
  /// message of a sender that is no peer; and when few file descriptors are left.
  std::function<void(const std::string& line)> on_stranger = {};
};

/// The state of the connection to a peer.
enum class Contact { pending, accepted, failed };

/// This process's end of the links to other processes, over ZeroMQ. A thread of the endpoint receives. Thread-safe.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const EndpointAddress& address() const = 0;
  /// Adds a process as peer number `peer`. The endpoint connects to the process when a link to it is made, or when the
  /// process sends something. Messages of a process that is not a peer yet are dropped, and on_stranger reports them.
  /// Throws Error if the number is in use.
  virtual void add_peer(int peer, const EndpointAddress& address) = 0;
  /// Gives the number of a peer to another process. Links to the old process fail, and links with the same names can be
  /// made to the new one. Throws Error if the number is not in use.
  virtual void replace_peer(int peer, const EndpointAddress& address) = 0;
  /// Makes this process's end of a link to a peer; the peer makes the other end under the same name. Frames that arrive
  /// before this call wait in the link. Throws Error if no peer has that number, or if link() has made a link of that
  /// name to the peer before.
  virtual std::shared_ptr<Link> link(int peer, const std::string& name) = 0;
  /// Cuts a peer off: its links fail with `cause`, later ones included. Does nothing if the peer is unknown.
  virtual void fail_peer(int peer, const FailurePtr& cause) = 0;
  /// Connects to a peer if there is no connection, and blocks until the peer has accepted it or it has failed. Returns
  /// `pending` if neither happens within `limit`. Throws Error if no peer has that number.
  virtual Contact reach(int peer, std::chrono::milliseconds limit) = 0;
  /// Blocks until every connected peer has acknowledged all frames and read all payloads that this endpoint has sent to
  /// it, or the connection to it has failed. Returns false if this takes longer than `limit`.
  virtual bool drain(std::chrono::milliseconds limit) = 0;
};

/// Makes an endpoint that listens at `options.bind`. Throws Error if this address cannot be bound.
std::shared_ptr<Endpoint> make_zeromq_endpoint(EndpointOptions options);

}  // namespace troupe
