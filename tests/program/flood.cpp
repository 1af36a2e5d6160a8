#include "troupe/tests/program/flood.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include "troupe/ops/core/random.hpp"

namespace troupe::testing {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

std::string text_field(const std::string& value) {
  return static_cast<char>(value.size()) + value;
}

/// The greeting of ZMTP 3.0 with a security mechanism.
std::string greeting(const std::string& mechanism) {
  return std::string("\xFF\0\0\0\0\0\0\0\x01\x7F\x03\x00", 12) + mechanism + std::string(20 - mechanism.size(), '\0') +
         std::string(32, '\0');
}

/// The first bytes of a frame whose size has eight bytes.
std::string frame_start(char flags, std::uint64_t size) {
  std::string start(1, flags);
  for (int shift = 56; shift >= 0; shift -= 8) start += static_cast<char>(size >> shift);
  return start;
}

/// One connection of a stranger: the bytes of `start`, and then `filler` zero bytes.
class Attempt {
 public:
  Attempt(const std::string& address, std::uint64_t seed, std::uint64_t number) {
    const auto draw = [&](std::uint64_t below, std::uint64_t stream) {
      return uniform_below(below, seed, number, stream);
    };
    const std::array<std::string, 3> mechanisms{"NULL", "PLAIN", "CURVE"};
    const auto mechanism = mechanisms[draw(3, 0)];
    switch (draw(6, 1)) {
      case 0:
        break;  // silent
      case 1:
        start_ = std::string(100 + draw(5'000, 2), static_cast<char>(draw(256, 3)));
        break;
      case 2:
        start_ = greeting("PLAIN");
        start_ += "\x04" + text_field(text_field("HELLO") + text_field("user") + text_field("password"));
        break;
      default: {
        // One frame, a command or a part of a message that goes on, whose last byte is never sent.
        const std::array<std::uint64_t, 4> sizes{std::uint64_t{1} << 16, std::uint64_t{1} << 20, std::uint64_t{4} << 20,
                                                 (std::uint64_t{4} << 20) + 64};
        const auto size = sizes[draw(4, 2)];
        start_ = greeting(mechanism) + frame_start(draw(2, 3) == 0 ? '\x06' : '\x03', size);
        filler_ = size - 1;
      }
    }
    connect_to(address);
  }
  ~Attempt() { close(descriptor_); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  pollfd item() const {
    const bool sends = sent_ < start_.size() + filler_;
    return {descriptor_, static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), 0};
  }

  /// Sends and receives what is possible now. Returns false if the connection has ended.
  bool go_on(short events, std::uint64_t& bytes) {
    if ((events & (POLLERR | POLLHUP)) != 0) return false;
    std::array<char, 4096> answer;
    if ((events & POLLIN) != 0 && recv(descriptor_, answer.data(), answer.size(), MSG_DONTWAIT) <= 0) return false;
    if ((events & POLLOUT) == 0) return true;
    static const std::string zeros(kBlock, '\0');
    const auto* const from = sent_ < start_.size() ? start_.data() + sent_ : zeros.data();
    const auto left = sent_ < start_.size() ? start_.size() - sent_ : start_.size() + filler_ - sent_;
    const auto count = send(descriptor_, from, std::min(left, kBlock), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN;
    sent_ += static_cast<std::size_t>(count);
    bytes += static_cast<std::uint64_t>(count);
    return true;
  }

 private:
  void connect_to(const std::string& address) {
    const std::string abstract = "ipc://@";
    const bool is_ipc = address.starts_with(abstract);
    descriptor_ = socket(is_ipc ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (is_ipc) {
      const auto name = address.substr(abstract.size());
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::ranges::copy(name, to.sun_path + 1);
      (void)!connect(descriptor_, reinterpret_cast<const sockaddr*>(&to),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
    } else {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      (void)!connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }

  int descriptor_ = -1;
  std::string start_;
  std::uint64_t filler_ = 0;
  std::size_t sent_ = 0;
};

/// The inodes of the sockets of a process, as texts.
std::set<std::string> sockets_of(int pid) {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// Returns the fields of each line of a table of the kernel.
std::vector<std::vector<std::string>> rows_of(const char* path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return rows;
}

}  // namespace

std::vector<std::string> listeners_of(int pid) {
  const auto inodes = sockets_of(pid);
  std::vector<std::string> addresses;
  for (const auto& row : rows_of("/proc/net/tcp"))
    if (row.size() > 9 && row[3] == "0A" && inodes.contains(row[9]))
      addresses.push_back("tcp://127.0.0.1:" + std::to_string(std::stoi(row[1].substr(9), nullptr, 16)));
  // A listening socket has the flag 0x10000 (__SO_ACCEPTCON).
  for (const auto& row : rows_of("/proc/net/unix"))
    if (row.size() > 7 && row[3] == "00010000" && row[7].starts_with('@') && inodes.contains(row[6]))
      addresses.push_back("ipc://" + row[7]);
  return addresses;
}

FloodCount flood(const std::vector<std::string>& addresses, int connections, std::uint64_t seed, int stop) {
  FloodCount count;
  std::vector<std::unique_ptr<Attempt>> attempts(addresses.size() * static_cast<std::size_t>(connections));
  std::vector<pollfd> items(attempts.size() + 1);
  items.back() = {stop, POLLIN, 0};
  while (items.back().revents == 0) {
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      if (!attempts[i])
        attempts[i] = std::make_unique<Attempt>(addresses[i % addresses.size()], seed, count.connections++);
      items[i] = attempts[i]->item();
    }
    poll(items.data(), items.size(), -1);
    for (std::size_t i = 0; i < attempts.size(); ++i)
      if (items[i].revents != 0 && !attempts[i]->go_on(items[i].revents, count.bytes)) attempts[i].reset();
  }
  return count;
}

}  // namespace troupe::testing
