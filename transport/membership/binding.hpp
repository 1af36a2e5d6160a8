#pragma once

#include <string>

#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// host_of() and port_of_address() return the parts of an address `host:port`.
std::string host_of(const std::string& address);
std::string port_of_address(const std::string& address);

/// The address at which a process listens, and the host under which other processes reach it.
struct Binding {
  std::string address;          ///< `tcp://ADDRESS:`, to which a port is appended
  std::string advertised_host;  ///< if empty, other processes use the host of `address`
};

/// Returns the binding for `options.bind`: one address of this machine; all addresses for `any`; loopback if empty.
/// Throws Error if `options.bind` is empty but the ranks meet on another machine, or if it is `any` and this machine
/// has no route to the rendezvous.
Binding binding_of(const ClusterOptions& options);

}  // namespace troupe
