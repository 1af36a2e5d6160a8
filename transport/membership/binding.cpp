#include "troupe/transport/membership/binding.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "troupe/ops/core/error.hpp"

namespace troupe {

std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string port_of_address(const std::string& address) {
  return address.substr(address.rfind(':') + 1);
}

namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Returns the IPv4 address of this machine from which packets to `host` and `port` are sent. Throws Error if the host
/// is unknown or no route leads to it.
std::string local_address_towards(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first_address = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &first_address) != 0)
    throw Error("cluster", "the host of the rendezvous, '" + host + "', cannot be resolved");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(first_address, freeaddrinfo);
  const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in local{};
  socklen_t length = sizeof local;
  // Connecting a datagram socket sends nothing: the kernel only looks up the route.
  const bool has_route = descriptor >= 0 &&
                         connect(descriptor, first_address->ai_addr, first_address->ai_addrlen) == 0 &&
                         getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &length) == 0;
  if (descriptor >= 0) close(descriptor);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (!has_route || inet_ntop(AF_INET, &local.sin_addr, text.data(), text.size()) == nullptr)
    throw Error("cluster", "no route leads to the rendezvous at " + host + ":" + port);
  return text.data();
}

}  // namespace

Binding binding_of(const ClusterOptions& options) {
  const auto host = host_of(options.job.rendezvous);
  if (options.bind.empty()) {
    if (!is_loopback(host) && options.job.world_size > 1)
      throw Error("cluster", "the rendezvous " + options.job.rendezvous +
                                 " lies beyond this machine, and data between machines is not encrypted: allow it with "
                                 "--bind any, or --bind and an address of this machine in a network that you trust");
    return {"tcp://127.0.0.1:", {}};
  }
  if (options.bind != "any") return {"tcp://" + options.bind + ":", {}};
  if (options.job.rank == 0) return {"tcp://*:", host};
  return {"tcp://*:", local_address_towards(host, port_of_address(options.job.rendezvous))};
}

}  // namespace troupe
