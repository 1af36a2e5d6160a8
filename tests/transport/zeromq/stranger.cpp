#include "troupe/tests/transport/zeromq/stranger.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace troupe::testing {

namespace {

constexpr int kQuietMs = 500;

bool connect_tcp(int descriptor, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

/// Connects to an abstract Unix socket.
bool connect_ipc(int descriptor, const std::string& name) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), to.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return connect(descriptor, reinterpret_cast<const sockaddr*>(&to), length) == 0;
}

}  // namespace

Stranger::Stranger(const std::string& address)
    : descriptor_(socket(address.starts_with("ipc") ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  constexpr std::string_view kAbstract = "ipc://@";
  connected_ = address.starts_with(kAbstract)
                   ? connect_ipc(descriptor_, address.substr(kAbstract.size()))
                   : connect_tcp(descriptor_, std::stoi(address.substr(address.rfind(':') + 1)));
}

Stranger::~Stranger() {
  close(descriptor_);
}

bool Stranger::is_closed() const {
  std::array<char, 4096> bytes;
  ssize_t count = 0;
  while ((count = recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) continue;
  return count == 0 || errno != EAGAIN;
}

bool Stranger::is_greeted() const {
  char byte = 0;
  return recv(descriptor_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

void Stranger::send(std::string_view bytes) const {
  (void)!::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void Stranger::begin(const std::string& mechanism) const {
  std::string greeting("\xFF\0\0\0\0\0\0\0\x01\x7F\x03\x00", 12);
  greeting += mechanism + std::string(20 - mechanism.size(), '\0') + std::string(32, '\0');
  const auto text = [](const std::string& value) { return static_cast<char>(value.size()) + value; };
  const auto body = mechanism == "PLAIN" ? text("HELLO") + text("user") + text("password")
                                         : text("READY") + text("Socket-Type") + std::string("\0\0\0\6DEALER", 10);
  send(greeting + "\x04" + text(body));
}

std::size_t Stranger::flood(std::size_t bytes) const {
  constexpr std::size_t kFrame = std::size_t{1} << 20;
  // Flags 3: the size has eight bytes, and further parts follow.
  const auto frame = std::string("\x03\0\0\0\0\0\x10\0\0", 9) + std::string(kFrame, 'x');
  for (std::size_t sent = 0; sent < bytes;) {
    pollfd item{descriptor_, POLLOUT, 0};
    if (poll(&item, 1, kQuietMs) <= 0) return sent;
    const auto at = sent % frame.size();
    const auto count = ::send(descriptor_, frame.data() + at, frame.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) return sent;
    sent += static_cast<std::size_t>(count);
  }
  return bytes;
}

std::size_t Stranger::received_until_closed() const {
  std::array<char, 4096> bytes;
  std::size_t received = 0;
  for (ssize_t count = 0; (count = recv(descriptor_, bytes.data(), bytes.size(), 0)) > 0;)
    received += static_cast<std::size_t>(count);
  return received;
}

}  // namespace troupe::testing
