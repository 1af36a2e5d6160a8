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

/// The address of this machine from which packets to that host and port go out. Throws Error if the host is not known.
std::string own_address_towards(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0)
    throw Error("cluster", "the host of the rendezvous, '" + host + "', is not known here");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  // Nothing is sent: the kernel only looks for the way.
  const bool there_is_a_way = descriptor >= 0 && connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
                              getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length) == 0;
  if (descriptor >= 0) close(descriptor);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (!there_is_a_way || inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) == nullptr)
    throw Error("cluster", "there is no way to the rendezvous at " + host + ":" + port);
  return text.data();
}

}  // namespace

Binding binding_of(const ClusterOptions& options) {
  const auto host = host_of(options.job.rendezvous);
  if (options.bind.empty()) {
    if (!is_loopback(host) && options.job.world_size > 1)
      throw Error("cluster", "the rendezvous " + options.job.rendezvous +
                                 " lies beyond this machine, and nothing that travels is encrypted: allow it with "
                                 "--bind any, or --bind and an address of this machine in a network that you trust");
    return {"tcp://127.0.0.1:", {}};
  }
  if (options.bind != "any") return {"tcp://" + options.bind + ":", {}};
  const auto own = options.job.rank == 0 ? host : own_address_towards(host, port_of_address(options.job.rendezvous));
  return {"tcp://*:", own};
}

}  // namespace troupe
