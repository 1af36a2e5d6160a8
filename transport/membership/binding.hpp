#pragma once

#include <string>

#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// The parts of `host:port`.
std::string host_of(const std::string& address);
std::string port_of_address(const std::string& address);

/// The address at which a process listens, and the host under which others reach it.
struct Binding {
  std::string address;          ///< tcp://address: with the colon, without the port
  std::string advertised_host;  ///< empty: that of `address`
};

/// Reads `options.bind`: an address, `any`, or empty for this machine alone. Throws Error if the rendezvous is on
/// another machine but `options.bind` is empty, or if no route leads to the rendezvous.
Binding binding_of(const ClusterOptions& options);

}  // namespace troupe
