#pragma once

#include <string>

#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// host_of() returns the host of an address `host:port`, and port_of_address() the port.
std::string host_of(const std::string& address);
std::string port_of_address(const std::string& address);

/// The address at which a process listens, and the host under which other processes reach it.
struct Binding {
  std::string address;          ///< `tcp://ADDRESS:`, to which the user of the binding appends a port
  std::string advertised_host;  ///< if empty, other processes use the host of `address`
};

/// Returns the binding for `options.bind`: one address of this machine; all addresses for `any`; loopback if empty. For
/// `any`, rank 0 advertises the host of the rendezvous, and another rank the address of this machine from which packets
/// to the rendezvous are sent. Throws Error if `options.bind` is empty although the job has several processes and its
/// rendezvous is not at a loopback address, or if `any` is given to a rank other than 0 and this machine has no route
/// to the rendezvous.
Binding binding_of(const ClusterOptions& options);

}  // namespace troupe
