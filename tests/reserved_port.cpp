#include "troupe/tests/reserved_port.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <mutex>

#include "troupe/ops/core/error.hpp"

namespace troupe::testing {

ReservedPort::ReservedPort() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (descriptor_ < 0 || setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    if (descriptor_ >= 0) close(descriptor_);
    throw Error("test", "no port can be reserved");
  }
  number_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() {
  close(descriptor_);
}

std::string new_address() {
  static std::mutex mutex;
  static std::deque<ReservedPort> ports;
  std::lock_guard lock(mutex);
  return ports.emplace_back().address();
}

}  // namespace troupe::testing
