#include "troupe/transport/device/share_bytes.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe::device {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFilePause{5}, kRetryPause{20};
constexpr std::size_t kMaxBytes = 65'536;

void write(const std::string& path, const std::vector<std::byte>& bytes) {
  if (std::filesystem::exists(path))
    throw Error("share", "'" + path + "' exists; it may hold what is left of another job");
  // The bytes are written to a temporary file that is then renamed, so that the other ranks see the whole file or none.
  const auto aside = path + "." + std::to_string(getpid());
  std::ofstream file(aside, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error("share", "'" + aside + "' cannot be written");
  std::error_code error;
  std::filesystem::rename(aside, path, error);
  if (error) throw Error("share", "'" + path + "' cannot be made: " + error.message());
}

/// The message that a rank sends to rank 0 first. It lets rank 0 distinguish ranks from other programs that connect.
/// Rank 0 answers with the same struct before it sends the bytes.
struct Greeting {
  std::array<char, 8> word{'t', 'r', 'o', 'u', 'p', 'e', '/', '1'};
  std::uint32_t number = 0;  // in the message: the rank; in the answer: the number of bytes
};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  /// Waits until the socket is ready for `events`, which are flags of poll(). Returns false if the deadline passes
  /// first, or if poll() fails.
  bool wait(short events, Clock::time_point deadline) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{descriptor_, events, 0};
    return poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) > 0;
  }

  bool send_all(const void* data, std::size_t bytes, Clock::time_point deadline) const {
    for (std::size_t sent = 0; sent < bytes;) {
      if (!wait(POLLOUT, deadline)) return false;
      const auto count =
          send(descriptor_, static_cast<const char*>(data) + sent, bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    return true;
  }

  bool receive_all(void* data, std::size_t bytes, Clock::time_point deadline) const {
    for (std::size_t received = 0; received < bytes;) {
      if (!wait(POLLIN, deadline)) return false;
      const auto count = recv(descriptor_, static_cast<char*>(data) + received, bytes - received, MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (count > 0) received += static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  int descriptor_;
};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0)
    throw Error("share", "'" + address + "' is no address; an example is 'host:1234'");
  auto host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *addresses = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const auto error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &addresses);
  if (error != 0) throw Error("share", "'" + address + "' is not known: " + gai_strerror(error));
  return {addresses, freeaddrinfo};
}

Socket listen_at(const std::string& address, int ranks) {
  const auto addresses = addresses_of(address);
  std::string reason;
  for (const auto* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Socket listener(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    const int on = 1;
    if (listener) setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener && bind(listener.descriptor(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(listener.descriptor(), ranks) == 0)
      return listener;
    reason = std::strerror(errno);
  }
  throw Error("share", "rank 0 cannot listen at '" + address + "': " + reason);
}

/// Serves a visitor, a program that has connected to rank 0: receives its greeting and sends the answer and the bytes.
/// Returns the visitor's rank, or -1 if the visitor is no rank of the group, the connection fails, or the bytes are not
/// sent by the deadline.
int serve(const Socket& visitor, int ranks, const std::vector<std::byte>& bytes, Clock::time_point deadline) {
  Greeting greeting;
  const Greeting answer{.number = static_cast<std::uint32_t>(bytes.size())};
  const bool served = visitor.receive_all(&greeting, sizeof greeting, deadline) && greeting.word == answer.word &&
                      greeting.number < static_cast<std::uint32_t>(ranks) &&
                      visitor.send_all(&answer, sizeof answer, deadline) &&
                      visitor.send_all(bytes.data(), bytes.size(), deadline);
  return served ? static_cast<int>(greeting.number) : -1;
}

void serve_all(const std::string& address, int ranks, const std::vector<std::byte>& bytes, Clock::time_point deadline) {
  const auto listener = listen_at(address, ranks);
  std::set<int> missing;
  for (int rank = 1; rank < ranks; ++rank) missing.insert(rank);
  while (!missing.empty() && listener.wait(POLLIN, deadline)) {
    const Socket visitor(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    // Each visitor has 1 second, so that a program that connects and sends nothing does not keep the ranks waiting.
    if (visitor)
      missing.erase(serve(visitor, ranks, bytes, std::min(deadline, Clock::now() + std::chrono::seconds(1))));
  }
  if (missing.empty()) return;
  std::string names;
  for (const auto rank : missing) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  throw Error("share",
              (missing.size() == 1 ? "rank " : "ranks ") + names + " did not come to '" + address + "' in time");
}

bool connect_to(const Socket& socket, const addrinfo& at, Clock::time_point deadline) {
  if (!socket) return false;
  if (connect(socket.descriptor(), at.ai_addr, at.ai_addrlen) == 0) return true;
  int error = errno;
  socklen_t size = sizeof error;
  return error == EINPROGRESS && socket.wait(POLLOUT, deadline) &&
         getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/// Asks rank 0 at an address for the bytes. Returns an empty vector if connecting fails or takes longer than 1 second,
/// or if the answer is not complete and correct by the deadline.
std::vector<std::byte> ask(const addrinfo& at, int rank, Clock::time_point deadline) {
  const Socket peer(socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol));
  // Connecting takes at most 1 second, so that an address that never answers leaves time for the host's other
  // addresses.
  if (!connect_to(peer, at, std::min(deadline, Clock::now() + std::chrono::seconds(1)))) return {};
  const Greeting greeting{.number = static_cast<std::uint32_t>(rank)};
  Greeting answer;
  const bool answered = peer.send_all(&greeting, sizeof greeting, deadline) &&
                        peer.receive_all(&answer, sizeof answer, deadline) && answer.word == greeting.word &&
                        answer.number <= kMaxBytes;
  if (!answered) return {};
  std::vector<std::byte> bytes(answer.number);
  return peer.receive_all(bytes.data(), bytes.size(), deadline) ? bytes : std::vector<std::byte>();
}

}  // namespace

std::vector<std::byte> share_by_file(const std::string& path, int rank, const std::vector<std::byte>& bytes,
                                     std::chrono::milliseconds limit) {
  if (rank == 0) {
    write(path, bytes);
    return bytes;
  }
  const auto deadline = Clock::now() + limit;
  while (true) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    if (file.is_open()) return {data, data + text.size()};
    if (Clock::now() > deadline)
      throw Error("share", "rank 0 has not written '" + path + "' within " + std::to_string(limit.count()) + " ms");
    std::this_thread::sleep_for(kFilePause);
  }
}

std::vector<std::byte> share_by_tcp(const std::string& address, int rank, int ranks,
                                    const std::vector<std::byte>& bytes, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  if (rank == 0) {
    if (bytes.size() > kMaxBytes)
      throw Error("share", std::to_string(bytes.size()) + " bytes are too many: share at most " +
                               std::to_string(kMaxBytes) + " by TCP");
    serve_all(address, ranks, bytes, deadline);
    return bytes;
  }
  const auto addresses = addresses_of(address);
  while (Clock::now() < deadline) {
    for (const auto* at = addresses.get(); at != nullptr; at = at->ai_next)
      if (auto received = ask(*at, rank, deadline); !received.empty()) return received;
    std::this_thread::sleep_for(kRetryPause);
  }
  throw Error("share", "rank " + std::to_string(rank) + " has not met rank 0 at '" + address + "' within " +
                           std::to_string(limit.count()) + " ms");
}

}  // namespace troupe::device
