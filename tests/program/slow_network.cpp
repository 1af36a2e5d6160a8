// A slow network between hosts of our own: carries IP packets between the tun devices of network namespaces, late, some
// of them not at all, and no more per second than a line of that rate would. For kernels without netem.
//
//   slow_network delay_ms=20 loss_percent=1 mbit=50 queue_bytes=1000000 seed=1 host=NAMESPACE/DEVICE/ADDRESS...
//
// Each host has a line of its own into the network. The delay is that of one way. A packet that finds the queue of its
// line full is dropped. Says "ready" once packets are carried, and after SIGTERM what every line carried.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("[slow_network] " + what);
}

[[noreturn]] void fail_with_errno(const std::string& what) {
  fail(what + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  int operator*() const { return number_; }

 private:
  int number_;
};

Descriptor open_file(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC));
  if (*file < 0) fail_with_errno(path + " cannot be opened");
  return file;
}

// ---- what is asked for

struct HostOption {
  std::string name_space, device, address;
};

struct Options {
  std::map<std::string, double> numbers{
      {"delay_ms", 0}, {"loss_percent", 0}, {"mbit", 1000}, {"queue_bytes", 1e6}, {"seed", 0}};
  std::vector<HostOption> hosts;
};

HostOption parse_host(const std::string& text) {
  const auto first = text.find('/'), last = text.rfind('/');
  if (first == std::string::npos || first == last) fail("'" + text + "' is not NAMESPACE/DEVICE/ADDRESS");
  return {text.substr(0, first), text.substr(first + 1, last - first - 1), text.substr(last + 1)};
}

double parse_number(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(number >= 0 && number <= 1e12)) fail(name + " cannot be '" + text + "'");
  return number;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (const auto& argument : arguments) {
    const auto sign = argument.find('=');
    const auto name = argument.substr(0, sign);
    const auto value = sign == std::string::npos ? "" : argument.substr(sign + 1);
    if (name == "host")
      options.hosts.push_back(parse_host(value));
    else if (options.numbers.contains(name))
      options.numbers[name] = parse_number(name, value);
    else
      fail("there is no option '" + name + "'");
  }
  if (options.hosts.size() < 2) fail("a network needs two hosts");
  if (options.numbers["mbit"] == 0) fail("mbit cannot be 0");
  return options;
}

// ---- a line

struct Packet {
  std::vector<std::byte> bytes;
  std::size_t receiver = 0;
  Clock::time_point due = {};
};

/// What one host sends, on its way.
class Line {
 public:
  Line(const Options& options, std::uint64_t number)
      : delay_(std::llround(1e6 * options.numbers.at("delay_ms"))),
        nanoseconds_per_byte_(8e3 / options.numbers.at("mbit")),
        longest_queue_(std::llround(nanoseconds_per_byte_ * options.numbers.at("queue_bytes"))),
        random_(1'000 * static_cast<std::uint64_t>(options.numbers.at("seed")) + number),
        is_lost_(std::min(1.0, options.numbers.at("loss_percent") / 100)) {}

  void take(Packet packet, Clock::time_point now) {
    if (idle_from_ - now > longest_queue_) {
      ++overflowed_;
      return;
    }
    // One that is lost takes its time on the line as well.
    const auto sending_time =
        nanoseconds(std::llround(nanoseconds_per_byte_ * static_cast<double>(packet.bytes.size())));
    idle_from_ = std::max(idle_from_, now) + sending_time;
    packet.due = idle_from_ + delay_;
    ++packets_;
    bytes_ += packet.bytes.size();
    is_lost_(random_) ? void(++lost_) : on_the_way_.push_back(std::move(packet));
  }

  /// The delay is the same for all, so the first that was sent is the first that arrives.
  const Packet* next() const { return on_the_way_.empty() ? nullptr : &on_the_way_.front(); }
  void pop() { on_the_way_.pop_front(); }

  std::string report() const {
    return std::to_string(packets_) + " packets, " + std::to_string(bytes_) + " bytes, " + std::to_string(lost_) +
           " lost, " + std::to_string(overflowed_) + " overflowed";
  }

 private:
  const nanoseconds delay_;
  const double nanoseconds_per_byte_;
  const nanoseconds longest_queue_;
  std::mt19937_64 random_;
  std::bernoulli_distribution is_lost_;
  std::deque<Packet> on_the_way_;
  Clock::time_point idle_from_ = {};
  std::uint64_t packets_ = 0, bytes_ = 0, lost_ = 0, overflowed_ = 0;
};

// ---- a host

/// The device lives in the namespace in which it is opened, and stays there.
Descriptor open_tun(const HostOption& host) {
  const auto name_space = open_file("/run/netns/" + host.name_space, O_RDONLY);
  if (setns(*name_space, CLONE_NEWNET) != 0) fail_with_errno("namespace " + host.name_space + " cannot be entered");
  auto tun = open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (host.device.empty() || host.device.size() >= IFNAMSIZ) fail("'" + host.device + "' cannot be a device's name");
  host.device.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(*tun, TUNSETIFF, &request) != 0)
    fail_with_errno("device " + host.device + " of namespace " + host.name_space + " cannot be taken");
  return tun;
}

/// In network byte order, as in a packet.
std::uint32_t parse_address(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) fail("'" + text + "' is not an IPv4 address");
  return address.s_addr;
}

struct Host {
  std::string address;
  Descriptor tun;
  Line line;
};

// ---- the network

class Network {
 public:
  explicit Network(const Options& options) {
    for (const auto& host : options.hosts) {
      by_address_[parse_address(host.address)] = hosts_.size();
      hosts_.push_back({host.address, open_tun(host), Line(options, hosts_.size())});
    }
  }

  /// Until the descriptor `stop` can be read.
  void carry_until(int stop) {
    std::vector<pollfd> polled;
    for (const auto& host : hosts_) polled.push_back({*host.tun, POLLIN, 0});
    polled.push_back({stop, POLLIN, 0});
    while ((polled.back().revents & POLLIN) == 0) {
      wait(polled);
      for (auto& host : hosts_) receive(host);
      for (auto& host : hosts_) deliver(host.line);
    }
  }

  void report() const {
    for (const auto& host : hosts_) std::cout << "from " << host.address << ": " << host.line.report() << std::endl;
  }

 private:
  /// For a packet to come, or the next one to be due.
  void wait(std::vector<pollfd>& polled) const {
    auto limit = nanoseconds(std::chrono::seconds(1));
    for (const auto& host : hosts_)
      if (const auto* packet = host.line.next()) limit = std::min(limit, nanoseconds(packet->due - Clock::now()));
    limit = std::max(limit, nanoseconds(0));
    const timespec time{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
    if (ppoll(polled.data(), polled.size(), &time, nullptr) < 0 && errno != EINTR) fail_with_errno("poll fails");
  }

  void receive(Host& host) {
    std::array<std::byte, 65'536> buffer;
    // What comes in bursts must not keep what is due waiting.
    for (int i = 0; i < 64; ++i) {
      const auto size = read(*host.tun, buffer.data(), buffer.size());
      if (size < 0 && errno != EAGAIN && errno != EINTR) fail_with_errno("the device of " + host.address + " fails");
      if (size <= 0) return;
      const std::vector<std::byte> bytes(buffer.data(), buffer.data() + size);
      if (const auto found = by_address_.find(receiver_of(bytes)); found != by_address_.end())
        host.line.take({bytes, found->second}, Clock::now());
    }
  }

  /// 0 if the packet is not one of IPv4: the kernel tries IPv6, too.
  static std::uint32_t receiver_of(const std::vector<std::byte>& packet) {
    constexpr std::size_t kOffset = 16, kHeaderBytes = 20;
    if (packet.size() < kHeaderBytes || (packet[0] >> 4) != std::byte{4}) return 0;
    std::uint32_t address = 0;
    std::memcpy(&address, packet.data() + kOffset, sizeof address);
    return address;
  }

  void deliver(Line& line) {
    const auto now = Clock::now();
    for (const auto* packet = line.next(); packet != nullptr && packet->due <= now; packet = line.next()) {
      // A host whose device is down gets nothing, as with any network.
      (void)!write(*hosts_[packet->receiver].tun, packet->bytes.data(), packet->bytes.size());
      line.pop();
    }
  }

  std::vector<Host> hosts_;
  std::map<std::uint32_t, std::size_t> by_address_;
};

Descriptor catch_sigterm() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  // The process that started it may be killed before it can end this.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  Descriptor descriptor(signalfd(-1, &signals, SFD_CLOEXEC));
  if (*descriptor < 0) fail_with_errno("signals cannot be read");
  return descriptor;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto stop = catch_sigterm();
    Network network(parse({argv + 1, argv + argc}));
    std::cout << "ready" << std::endl;
    network.carry_until(*stop);
    network.report();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
