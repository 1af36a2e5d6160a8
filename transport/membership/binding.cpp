#include "troupe/transport/membership/binding.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
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

bool is_loopback(const in_addr& address) {
  return ntohl(address.s_addr) >> 24 == 127;
}

std::string text_of(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET, &address, text.data(), text.size()) != nullptr ? text.data() : "";
}

/// Returns the IPv4 address of a host, as this machine resolves it. Throws Error if there is none.
sockaddr_in resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first_address = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &first_address) != 0)
    throw Error("cluster", "the host of the rendezvous, '" + host + "', has no IPv4 address");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(first_address, freeaddrinfo);
  sockaddr_in address{};
  std::memcpy(&address, addresses->ai_addr, sizeof address);
  return address;
}

/// Returns the IPv4 address of this machine from which packets to `host` and `port` are sent. Throws Error if the host
/// is unknown or no route leads to it.
std::string local_address_towards(const std::string& host, const std::string& port) {
  const auto remote = resolve(host, port);
  const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in local{};
  socklen_t length = sizeof local;
  // Connecting a datagram socket sends nothing: the kernel only looks up the route.
  const bool has_route = descriptor >= 0 &&
                         connect(descriptor, reinterpret_cast<const sockaddr*>(&remote), sizeof remote) == 0 &&
                         getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &length) == 0;
  if (descriptor >= 0) close(descriptor);
  auto address = has_route ? text_of(local.sin_addr) : "";
  if (address.empty()) throw Error("cluster", "no route leads to the rendezvous at " + host + ":" + port);
  return address;
}

/// Throws Error if processes on other machines could connect to the address `bind`, and the job has no secret.
void expect_secret(const ClusterOptions& options, bool has_secret) {
  in_addr address{};
  const bool is_local = inet_pton(AF_INET, options.bind.c_str(), &address) == 1 && is_loopback(address);
  if (has_secret || is_local || options.job.world_size == 1) return;
  throw Error("cluster", "--bind " + options.bind +
                             " makes this process listen beyond its machine, which needs a "
                             "secret: create one with " +
                             kMakeSecret +
                             ", copy it to every machine, and give every process "
                             "--secret-file job.secret, or its text in the variable " +
                             kSecretVariable);
}

/// Returns the binding of a process that listens at loopback. Throws Error if the rendezvous lies elsewhere.
Binding at_loopback(const ClusterOptions& options) {
  Binding binding{"tcp://127.0.0.1:", {}, {}};
  if (options.job.world_size == 1) return binding;
  const auto port = port_of_address(options.job.rendezvous);
  const auto rendezvous = resolve(host_of(options.job.rendezvous), port);
  if (!is_loopback(rendezvous.sin_addr))
    throw Error("cluster",
                "the rendezvous " + options.job.rendezvous +
                    " lies beyond this machine: allow processes of other machines to connect with --bind any, "
                    "or --bind and an address of this machine, and a secret (--secret-file)");
  binding.rendezvous = {"tcp://" + text_of(rendezvous.sin_addr) + ":" + port};
  return binding;
}

}  // namespace

Binding binding_of(const ClusterOptions& options, bool has_secret) {
  if (options.bind.empty()) return at_loopback(options);
  if (options.bind.find(':') != std::string::npos)
    throw Error("cluster", "--bind " + options.bind + ": give an IPv4 address without a port; IPv6 is not supported");
  expect_secret(options, has_secret);
  const bool is_any = options.bind == "any";
  Binding binding{is_any ? "tcp://*:" : "tcp://" + options.bind + ":", {}, {}};
  if (options.job.rendezvous.empty()) return binding;
  const auto host = host_of(options.job.rendezvous), port = port_of_address(options.job.rendezvous);
  binding.rendezvous = {binding.address + port};
  if (is_any) {
    binding.advertised_host = options.job.rank == 0 ? host : local_address_towards(host, port);
  } else if (options.job.rank == 0 && options.job.world_size > 1) {
    const auto address = resolve(host, port).sin_addr;
    const auto listens = "tcp://" + text_of(address) + ":" + port;
    // Processes of this machine are told to come to the loopback address.
    if (is_loopback(address) && listens != binding.rendezvous[0]) binding.rendezvous.push_back(listens);
  }
  return binding;
}

}  // namespace troupe
