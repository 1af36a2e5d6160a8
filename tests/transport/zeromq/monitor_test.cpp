#include "troupe/transport/zeromq/monitor.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"
#include "troupe/transport/zeromq/socket.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace troupe::zeromq;

namespace {

constexpr const char* kAnyPort = "tcp://127.0.0.1:*";

/// More connections than ZeroMQ accepts while nothing reads their events.
class Crowd {
 public:
  explicit Crowd(const zmq::socket_t& socket) {
    raise_descriptors();
    const auto address = socket.get(zmq::sockopt::last_endpoint);
    for (std::size_t i = 0; i < kSize; ++i) strangers_.push_back(std::make_unique<Stranger>(address));
  }

  std::size_t accepted() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(strangers_, [](const auto& stranger) { return stranger->is_greeted(); }));
  }
  /// Waits until ZeroMQ has no place for further events. The last connections are accepted and not yet greeted then.
  bool fills_events() const {
    return eventually([this] { return accepted() + 2 >= Monitor::kMostUnread; });
  }

  static constexpr std::size_t kSize = Monitor::kMostUnread + 150;

 private:
  static void raise_descriptors() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  std::vector<std::unique_ptr<Stranger>> strangers_;
};

}  // namespace

TEST_CASE("ZeroMQ accepts a limited number of connections until their events are read") {
  auto context = make_context();
  auto socket = make_receiver(context, 100);
  Monitor monitor(context, socket, "test");
  socket.bind(kAnyPort);
  const Crowd crowd(socket);
  CHECK(crowd.fills_events());
  // One connection may be accepted whose event has no place.
  CHECK(crowd.accepted() <= Monitor::kMostUnread + 1);
  std::size_t accepted = 0;
  CHECK(eventually([&] {
    while (const auto event = monitor.next()) accepted += event->number == ZMQ_EVENT_ACCEPTED ? 1 : 0;
    return accepted == Crowd::kSize;
  }));
  CHECK(eventually([&] { return crowd.accepted() == Crowd::kSize; }));
}

TEST_CASE("a socket is bound again while its events have no place") {
  auto context = make_context();
  auto socket = make_receiver(context, 100);
  Monitor monitor(context, socket, "test");
  socket.bind(kAnyPort);
  const Crowd crowd(socket);
  CHECK(crowd.fills_events());
  monitor.read_while([&] { socket.bind(kAnyPort); });
  // The count includes the events that the other thread has read.
  std::size_t events = 0;
  CHECK(eventually([&] {
    while (monitor.next()) ++events;
    return events >= Crowd::kSize;
  }));
  const Stranger last(socket.get(zmq::sockopt::last_endpoint));
  CHECK(eventually([&] { return last.is_greeted(); }));
}

TEST_CASE("the events of a socket end while they have no place") {
  auto context = make_context();
  auto socket = make_receiver(context, 100);
  std::optional<Monitor> monitor;
  monitor.emplace(context, socket, "test");
  socket.bind(kAnyPort);
  const Crowd crowd(socket);
  CHECK(crowd.fills_events());
  monitor.reset();
  CHECK(eventually([&] { return crowd.accepted() == Crowd::kSize; }));
}
