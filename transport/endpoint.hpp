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
  std::string tcp;       ///< tcp://host:port, or empty
  std::string ipc;       ///< for processes of the same host
  std::string identity;  ///< 32 random hexadecimal digits, known only to processes that got this address
  std::string host;      ///< the same for processes that share a kernel, its network and its process numbers
  std::int64_t pid = 0;
  /// The address and the value of a number in that process. A process that can read it may read payloads there.
  std::uint64_t probe_address = 0;
  std::uint64_t probe_value = 0;

  bool operator==(const EndpointAddress&) const = default;
};

struct EndpointOptions {
  /// The address to bind, tcp://address:port; port * stands for a free one. Loopback unless the user has asked for
  /// more: nothing is encrypted.
  std::string bind = "tcp://127.0.0.1:*";
  /// The host name or address under which other processes reach the bound address, if it differs.
  std::string advertised_host = {};
  /// Larger payloads are refused.
  std::size_t max_payload_bytes = std::size_t{1} << 32;
  /// The limit of memory, per peer, for frames that have arrived and were not received. A peer that sends more is cut
  /// off.
  std::size_t max_unreceived_bytes = std::size_t{1} << 30;
  /// If false, payloads are never read in the memory of another process, and no ipc address is bound.
  bool same_host = true;
  /// Called, on any thread, with one line about a connection whose sender is no peer. At most once per connection.
  std::function<void(const std::string& line)> on_stranger = {};
};

/// This process's end of the links to other processes, over ZeroMQ. A separate thread receives. Thread-safe.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const EndpointAddress& address() const = 0;
  /// Adds a process as a peer. It is connected when a link to it is made, or when it sends something. A process that
  /// sends before it is added is a stranger.
  virtual void add_peer(int peer, const EndpointAddress& address) = 0;
  /// Replaces the process of a peer. The old links fail, and links of the same names can be made again.
  virtual void replace_peer(int peer, const EndpointAddress& address) = 0;
  /// Makes this process's end of a link to a peer; the peer makes the other end under the same name. Frames that arrive
  /// before the link is made wait. Throws Error if the peer is unknown or has a link of that name already.
  virtual std::shared_ptr<Link> link(int peer, const std::string& name) = 0;
  /// Cuts a peer off: its links fail with this cause.
  virtual void fail_peer(int peer, const FailurePtr& cause) = 0;
  /// Waits, at most for `limit`, until the peers have got everything that was sent or are gone. Returns true if they
  /// have.
  virtual bool drain(std::chrono::milliseconds limit) = 0;
};

/// Throws Error if the address cannot be bound.
std::shared_ptr<Endpoint> make_zeromq_endpoint(EndpointOptions options);

}  // namespace troupe
