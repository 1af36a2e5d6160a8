#include "troupe/transport/zeromq/listeners.hpp"

#include <string_view>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/secret.hpp"

namespace troupe::zeromq {

namespace {

constexpr std::size_t kNameBytes = 16;
constexpr std::string_view kDefaultBind = "tcp://127.0.0.1:*";

}  // namespace

Listeners::Listeners(zmq::socket_t& socket, const EndpointOptions& options, EndpointAddress& address)
    : socket_(socket) {
  try {
    bind(options, address);
  } catch (const zmq::error_t& error) {
    throw Error("endpoint", options.bind + " cannot be bound: " + error.what());
  }
  if (options.advertised_host.empty()) return;
  const auto port = address.tcp.substr(address.tcp.rfind(':'));
  address.tcp = "tcp://" + options.advertised_host + port;
}

void Listeners::bind(const EndpointOptions& options, EndpointAddress& address) {
  if (options.same_host) {
    // An abstract Unix socket leaves no file behind, however the process ends. Its name is public on the machine.
    address.ipc = "ipc://@troupe-" + random_hex(kNameBytes);
    socket_.bind(address.ipc);
  }
  if (options.same_host && options.bind == kDefaultBind) {
    reserved_.emplace();
    address.tcp = reserved_->address();
  } else {
    socket_.bind(options.bind);
    address.tcp = socket_.get(zmq::sockopt::last_endpoint);
  }
}

}  // namespace troupe::zeromq
