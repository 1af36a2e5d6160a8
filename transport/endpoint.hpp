#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "troupe/transport/link.hpp"

namespace troupe {

/// How other processes reach an endpoint, and what they need to know of its process.
struct EndpointAddress {
  std::string tcp;       ///< tcp://host:port, or empty
  std::string ipc;       ///< for processes of the same host
  std::string identity;  ///< 32 random hexadecimal digits, known only to those who got this address
  std::string host;      ///< the same for processes that share a kernel, its network and its process numbers
  std::int64_t pid = 0;
  /// Where a number lies in that process, and the number: who can read it there may read payloads there.
  std::uint64_t probe_address = 0;
  std::uint64_t probe_value = 0;

  bool operator==(const EndpointAddress&) const = default;
};

struct EndpointOptions {
  /// The address to bind, tcp://address:port; port * stands for a free one. Loopback unless the user has asked for
  /// more: nothing is encrypted.
  std::string bind = "tcp://127.0.0.1:*";
  /// The host name or address under which others reach what was bound, if that is not it.
  std::string advertised_host = {};
  /// Payloads above this are refused.
  std::size_t max_payload_bytes = std::size_t{1} << 32;
  /// What has arrived and was not received may take so much memory per peer; a peer that sends more is cut off.
  std::size_t max_unreceived_bytes = std::size_t{1} << 30;
  /// Off: payloads are never read in the memory of another process, and no ipc address is bound.
  bool same_host = true;
  /// Told, on any thread, of what came from no peer: one line. At most once per connection.
  std::function<void(const std::string& line)> on_stranger = {};
};

/// This process's end of the links to other processes, over ZeroMQ. A thread of its own receives. Thread-safe.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const EndpointAddress& address() const = 0;
  /// Makes a process known. It is connected when a link to it is made, or it sends something. A peer that sends before
  /// it is known here is a stranger.
  virtual void add_peer(int peer, const EndpointAddress& address) = 0;
  /// The process behind a peer has gone, and another has come in its place: the old links fail, and links of the same
  /// names can be made anew.
  virtual void replace_peer(int peer, const EndpointAddress& address) = 0;
  /// One end of a link to a peer; the other end is what the peer makes under the same name. Frames that arrive before
  /// the link is made wait. Throws Error if the peer is unknown or has a link of that name already.
  virtual std::shared_ptr<Link> link(int peer, const std::string& name) = 0;
  /// Cuts a peer off: its links fail with this cause.
  virtual void fail_peer(int peer, const FailurePtr& cause) = 0;
  /// Waits until the peers have got everything that was sent, or are gone, at most for `limit`. True if they have.
  virtual bool drain(std::chrono::milliseconds limit) = 0;
};

/// Throws Error if the address cannot be bound.
std::shared_ptr<Endpoint> make_zeromq_endpoint(EndpointOptions options);

}  // namespace troupe
