#pragma once

#include <string>

#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// Of `host:port`.
std::string host_of(const std::string& address);
std::string port_of_address(const std::string& address);

/// Where a process listens, and how others call it.
struct Binding {
  std::string address;  ///< tcp://address: without the port
  std::string advertised_host;
};

/// As the options say. Throws Error if the rendezvous lies beyond this machine and they do not allow it, or it cannot
/// be reached.
Binding binding_of(const ClusterOptions& options);

}  // namespace troupe
