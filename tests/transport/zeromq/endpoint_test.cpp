#include "troupe/transport/endpoint.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <thread>
#include <zmq.hpp>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"
#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/link_reader.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Frame numbered(std::int64_t step, std::int64_t elements, std::int64_t priority = Frame::kUrgent) {
  Tensor payload(Shape{elements}, DType::int64);
  for (auto& element : payload.mutable_data<std::int64_t>()) element = step;
  return {{.type = FrameType::tensor_ready, .edge = 5, .step = step}, payload, priority};
}

/// Two ends of a link, each with a reader.
struct Ends {
  explicit Ends(const EndpointOptions& options)
      : endpoints(make_endpoints(2, options)), a(endpoints[0]->link(1, "x")), b(endpoints[1]->link(0, "x")) {}

  std::vector<std::shared_ptr<Endpoint>> endpoints;
  LinkReader a, b;
};

/// Sends a frame with a payload of 800,000 bytes from end a to end b, and returns it as it arrives.
IncomingFrame guarded_frame(Ends& ends) {
  auto frame = numbered(0, 100'000);
  frame.guard = std::make_shared<PayloadGuard>();
  ends.a.link().send(frame);
  auto arrived = ends.b.receive(patience());
  REQUIRE(arrived);
  return std::move(*arrived);
}

/// Waits until end b reads payloads of end a in place, which the first packets find out.
bool reads_in_place(Ends& ends) {
  return eventually([&] { return guarded_frame(ends).payload->local() == nullptr; });
}

}  // namespace

TEST_CASE("frames of any size arrive whole and in order, in both directions") {
  const bool same_host = GENERATE(false, true);
  Ends ends({.same_host = same_host});
  const std::vector<std::int64_t> sizes{0, 1, 3, 500, 513, 5'000, 524'288, 524'289, 1'500'000};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto frame = numbered(static_cast<std::int64_t>(i), sizes[i]);
    // With a guard, the receiver may read in place.
    frame.guard = i % 2 == 0 ? std::make_shared<PayloadGuard>() : nullptr;
    CHECK(ends.a.link().send(frame));
    CHECK(ends.b.link().send(frame));
  }
  for (auto* reader : {&ends.a, &ends.b}) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto frame = reader->receive(patience());
      REQUIRE(frame);
      CHECK(frame->header.step == static_cast<std::int64_t>(i));
      const auto payload = frame->payload->tensor();
      REQUIRE(payload.elements() == sizes[i]);
      const auto elements = payload.data<std::int64_t>();
      CHECK(std::ranges::all_of(elements, [&](auto e) { return e == static_cast<std::int64_t>(i); }));
    }
  }
  CHECK(ends.endpoints[0]->drain(patience()));
}

TEST_CASE("what is used first overtakes what is used later, between the packets of a large frame") {
  std::promise<void> has_come, all_sent;
  std::atomic<bool> is_first{true};
  const auto endpoints = make_endpoints(2, {.same_host = false});
  const auto a = endpoints[0]->link(1, "x"), b = endpoints[1]->link(0, "x");
  // The thread that receives stays in this callback, acknowledges nothing, and so no large frame is sent to its end.
  b->on_ready([&] {
    if (!is_first.exchange(false)) return;
    has_come.set_value();
    all_sent.get_future().wait_for(patience());
  });
  a->send(numbered(0, 1));
  REQUIRE(has_come.get_future().wait_for(patience()) == std::future_status::ready);
  // 80 MB are more than may be on the way.
  for (const auto& frame : {numbered(9, 10'000'000, 9), numbered(3, 1'000'000, 3), numbered(1, 1)}) a->send(frame);
  all_sent.set_value();
  LinkReader reader(b);
  REQUIRE(reader.receive(patience()));
  std::vector<std::int64_t> steps;
  for (int i = 0; i < 3; ++i) {
    const auto frame = reader.receive(patience());
    REQUIRE(frame);
    steps.push_back(frame->header.step);
  }
  CHECK(steps == std::vector<std::int64_t>{1, 3, 9});
}

TEST_CASE("a payload that is read in place stays its sender's until then, and can be withdrawn") {
  Ends ends({.same_host = true});
  const auto guard = std::make_shared<PayloadGuard>();
  auto frame = numbered(1, 100'000);
  frame.guard = guard;
  REQUIRE(reads_in_place(ends));
  ends.a.link().send(frame);
  auto arrived = ends.b.receive(patience());
  REQUIRE(arrived);
  CHECK(arrived->payload->local() == nullptr);
  CHECK(frame.payload.use_count() == 2);
  std::int64_t element = 0;
  arrived->payload->read(80, std::as_writable_bytes(std::span(&element, 1)));
  CHECK(element == 1);
  CHECK_THROWS_WITH(arrived->payload->read(799'999, std::as_writable_bytes(std::span(&element, 1))),
                    Contains("8 bytes from 799999 on"));
  guard->withdraw();
  CHECK_THROWS_AS(arrived->payload->tensor(), PayloadWithdrawn);
  arrived.reset();
  CHECK(eventually([&] { return frame.payload.use_count() == 1; }));
}

TEST_CASE("closing a link, or losing the process at its other end, is the other end's failure") {
  Ends ends({.same_host = GENERATE(false, true)});
  ends.a.link().send(numbered(1, 10));
  ends.a.link().close();
  CHECK_FALSE(ends.a.link().send(numbered(2, 10)));
  REQUIRE(ends.b.receive(patience()));
  CHECK_FALSE(ends.b.receive(patience()));
  REQUIRE(ends.b.link().failure());
  CHECK_THAT(ends.b.link().failure()->what, Contains("process 0 has closed it"));
  // Another link of the same processes lives on, until one of them goes.
  LinkReader other(ends.endpoints[1]->link(0, "y"));
  CHECK_FALSE(other.link().failure());
  ends.endpoints[0].reset();
  CHECK_FALSE(other.receive(patience()));
  REQUIRE(other.link().failure());
  CHECK_THAT(other.link().failure()->what, Contains("process 0"));
}

TEST_CASE("a link fails when its peer has sent packets and refuses every connection") {
  const auto here = make_zeromq_endpoint({.same_host = false}), there = make_zeromq_endpoint({.same_host = false});
  // No socket listens at this port.
  const ReservedPort port;
  auto address = there->address();
  address.tcp = "tcp://" + port.address();
  here->add_peer(1, address);
  there->add_peer(0, here->address());
  const auto sending = there->link(0, "x");
  sending->send(numbered(1, 10));
  LinkReader reader(here->link(1, "x"));
  REQUIRE(reader.receive(patience()));
  CHECK_FALSE(reader.receive(patience()));
  REQUIRE(reader.link().failure());
  CHECK_THAT(reader.link().failure()->what, Contains("process 1, which has sent packets, refuses every connection"));
}

TEST_CASE("a peer that is connected and silent is lost, and its number and the cause are told") {
  std::promise<std::pair<int, FailurePtr>> told;
  EndpointOptions options{.same_host = GENERATE(false, true)};
  const auto silent = make_zeromq_endpoint(options);
  options.beat_interval = std::chrono::milliseconds(10);
  options.silence_limit = std::chrono::milliseconds(100);
  options.on_lost = [&](int peer, const EndpointAddress& address, const FailurePtr& cause) {
    if (address == silent->address()) told.set_value({peer, cause});
  };
  const auto watching = make_zeromq_endpoint(options);
  watching->add_peer(7, silent->address());
  silent->add_peer(0, watching->address());
  const auto link = watching->link(7, "x");
  auto loss = told.get_future();
  REQUIRE(loss.wait_for(patience()) == std::future_status::ready);
  const auto [peer, cause] = loss.get();
  CHECK(peer == 7);
  CHECK(cause->rank == 7);
  CHECK_THAT(cause->what, Contains("[link] no data from process 7 has arrived for "));
  CHECK(link->failure() == cause);
}

TEST_CASE("beats keep a connection alive without frames") {
  EndpointOptions options{.beat_interval = std::chrono::milliseconds(1), .silence_limit = patience()};
  std::atomic<int> lost{0};
  options.on_lost = [&](int, const EndpointAddress&, const FailurePtr&) { ++lost; };
  Ends ends(options);
  for (int i = 0; i < 20; ++i) {
    ends.a.link().send(numbered(i, 10));
    REQUIRE(ends.b.receive(patience()));
  }
  CHECK(lost == 0);
}

TEST_CASE("signals that arrive during a wait do not end it") {
  const auto address = new_address();
  const Secret secret(std::string(32, 's'));
  const auto acceptor = make_acceptor({"tcp://" + address}, secret, 4, patience());
  const auto client = connect_to_acceptor("tcp://" + address, secret, patience());
  std::atomic<bool> stop{false};
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &before);
  std::thread signals([&stop, waiting = pthread_self()] {
    while (!stop) {
      pthread_kill(waiting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  // The wait lasts for a time in which signals arrive.
  CHECK_FALSE(acceptor->receive(std::chrono::steady_clock::now() + std::chrono::milliseconds(50)));
  CHECK_FALSE(client->receive(std::chrono::steady_clock::now() + std::chrono::milliseconds(50)));
  client->send(std::as_bytes(std::span("hello", 5)));
  CHECK(acceptor->receive(std::chrono::steady_clock::now() + patience()));
  Ends ends({});
  for (int i = 0; i < 100; ++i) {
    ends.a.link().send(numbered(i, 1'000));
    const auto frame = ends.b.receive(patience());
    REQUIRE(frame);
    CHECK(frame->header.step == i);
  }
  stop = true;
  signals.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a peer that sends more than may wait is cut off") {
  Ends ends({.max_unreceived_bytes = 1'000'000, .same_host = false});
  // 1.6 MB.
  for (int i = 0; i < 20; ++i) ends.a.link().send(numbered(1, 10'000));
  REQUIRE(eventually([&] { return ends.a.link().failure() != nullptr; }));
  CHECK_FALSE(ends.a.link().send(numbered(1, 1)));
  CHECK_THAT(ends.a.link().failure()->what, Contains("process 1 takes nothing more"));
  while (ends.b.receive(patience())) {
  }
  REQUIRE(ends.b.link().failure());
  CHECK_THAT(ends.b.link().failure()->what, Contains("process 0") && Contains("more than 1000000 bytes"));
}

TEST_CASE("strangers are reported and all their messages ignored") {
  std::atomic<int> strangers{0};
  const auto endpoints =
      make_endpoints(2, {.same_host = false, .on_stranger = [&](const std::string&) { ++strangers; }});
  LinkReader a(endpoints[0]->link(1, "x")), b(endpoints[1]->link(0, "x"));
  const auto address = endpoints[1]->address().tcp;
  Stranger(address).send(std::string(100'000, 'z'));
  Stranger(address).send(std::string("\xFF\0\0\0\0\0\0\0\1\x7F", 10));  // the beginning of a handshake
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.connect(address);
  for (int i = 0; i < 10; ++i) (void)socket.send(zmq::str_buffer("garbage"), zmq::send_flags::dontwait);
  CHECK(eventually([&] { return strangers > 1; }));
  a.link().send(numbered(4, 10));
  const auto frame = b.receive(patience());
  REQUIRE(frame);
  CHECK(frame->header.step == 4);
}

TEST_CASE("nothing is read from a stranger that has no token or key, however much it sends") {
  const bool encrypt = GENERATE(false, true);
  const auto endpoints = make_endpoints(2, {.encrypt = encrypt, .same_host = false});
  constexpr std::size_t kFlood = std::size_t{64} << 20;
  for (const auto* mechanism : {"NULL", "PLAIN", "CURVE"}) {
    const Stranger stranger(endpoints[1]->address().tcp);
    REQUIRE(stranger.connected());
    stranger.begin(mechanism);
    // The kernel's buffers take some.
    CHECK(stranger.flood(kFlood) < kFlood / 2);
  }
  CHECK(endpoints[0]->reaches(1, patience()));
}

TEST_CASE("a process that knows the name of a peer cannot take its place") {
  const bool same_host = GENERATE(false, true);
  const auto endpoints = make_endpoints(2, {.same_host = same_host});
  const auto& address = endpoints[1]->address();
  CHECK(address.ipc.find(address.identity) == std::string::npos);
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::routing_id, endpoints[0]->address().identity);
  SECTION("without a token") {}
  SECTION("with another token") {
    socket.set(zmq::sockopt::plain_username, endpoints[0]->address().identity);
    socket.set(zmq::sockopt::plain_password, "guessed");
  }
  socket.connect(same_host ? address.ipc : address.tcp);
  (void)socket.send(zmq::str_buffer("garbage"), zmq::send_flags::dontwait);
  // Another process comes first. The peer is still heard.
  std::this_thread::yield();
  LinkReader a(endpoints[0]->link(1, "x")), b(endpoints[1]->link(0, "x"));
  a.link().send(numbered(4, 10));
  CHECK(b.receive(patience()));
  CHECK_FALSE(b.link().failure());
}

TEST_CASE("endpoints that encrypt accept their peers alone") {
  Ends ends({.encrypt = true, .same_host = GENERATE(false, true)});
  ends.a.link().send(numbered(7, 1'000'000));
  const auto frame = ends.b.receive(patience());
  REQUIRE(frame);
  CHECK(frame->header.step == 7);
  const auto unknown = make_zeromq_endpoint({.encrypt = true});
  unknown->add_peer(0, ends.endpoints[0]->address());
  CHECK_FALSE(unknown->reaches(0, std::chrono::milliseconds(200)));
  // The key of the address is not that of the process there.
  auto address = ends.endpoints[0]->address();
  address.key = unknown->address().key;
  address.identity = unknown->address().identity;
  ends.endpoints[1]->replace_peer(0, address);
  CHECK_FALSE(ends.endpoints[1]->reaches(0, std::chrono::milliseconds(200)));
}

TEST_CASE("processes of other users cannot connect on one machine") {
  const auto endpoints = make_endpoints(2);
  CHECK(endpoints[0]->reaches(1, patience()));
  CHECK_FALSE(Stranger(endpoints[1]->address().tcp).connected());
  if (geteuid() != 0) return;
  const auto child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65'534;
    if (setuid(kNobody) != 0) _exit(2);
    const Stranger stranger(endpoints[1]->address().ipc);
    _exit(stranger.received_until_closed() == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("an endpoint listens at TCP once a peer needs it") {
  const auto here = make_zeromq_endpoint({}), there = make_zeromq_endpoint({});
  auto far = there->address();
  far.host = "another";
  here->add_peer(1, far);
  there->add_peer(0, here->address());
  CHECK(eventually([&] { return Stranger(here->address().tcp).connected(); }));
  CHECK_FALSE(Stranger(there->address().tcp).connected());
}

TEST_CASE("payloads are read in place only if both ends allow it") {
  Ends ends({.read_in_place = false});
  CHECK(ends.endpoints[0]->reaches(1, patience()));
  for (int i = 0; i < 10; ++i) CHECK(guarded_frame(ends).payload->local() != nullptr);
}

TEST_CASE("an address that cannot be bound, and peers and links that are not there, are refused") {
  CHECK_THROWS_WITH(make_zeromq_endpoint({.bind = "tcp://192.0.2.1:*"}), Contains("cannot be bound"));
  const auto endpoints = make_endpoints(2);
  CHECK_THROWS_WITH(endpoints[0]->link(7, "x"), Contains("no peer 7"));
  const auto link = endpoints[0]->link(1, "x");
  CHECK_THROWS_WITH(endpoints[0]->link(1, "x"), Contains("has a link 'x' already"));
  CHECK_THROWS_WITH(endpoints[0]->add_peer(1, endpoints[1]->address()), Contains("known already"));
}
