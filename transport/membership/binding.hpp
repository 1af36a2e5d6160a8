#pragma once

#include <string>
#include <vector>

#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// host_of() returns the host of an address `host:port`, and port_of_address() the port.
std::string host_of(const std::string& address);
std::string port_of_address(const std::string& address);

/// The addresses at which a process listens, and the host under which other processes reach it.
struct Binding {
  std::string address;          ///< `tcp://ADDRESS:`, to which the user of the binding appends a port
  std::string advertised_host;  ///< if empty, other processes use the host of `address`
  /// At rank 0: the addresses of the rendezvous, tcp://ADDRESS:PORT. They include the address that the host of the
  /// rendezvous has on this machine if it is a loopback address, such as 127.0.1.1.
  std::vector<std::string> rendezvous;
};

/// Returns the binding for `options.bind`: one address of this machine; all addresses for `any`; loopback if empty. For
/// `any`, rank 0 advertises the host of the rendezvous, and another rank the address of this machine from which packets
/// to the rendezvous are sent. Throws Error if
/// - `options.bind` is empty although the job has several processes and its rendezvous is not at a loopback address;
/// - this process would listen beyond loopback, the job has several processes and `has_secret` is false;
/// - the address or the rendezvous is an IPv6 address;
/// - the host of the rendezvous has no address, or `any` is given to another rank than 0 and no route leads to it.
Binding binding_of(const ClusterOptions& options, bool has_secret);

}  // namespace troupe
