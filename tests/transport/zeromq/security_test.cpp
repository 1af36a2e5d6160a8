#include "troupe/transport/zeromq/security.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <zmq.hpp>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/zeromq/link_ends.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"

using namespace troupe;
using namespace troupe::testing;

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
  CHECK(endpoints[0]->reach(1, patience()) == Contact::accepted);
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
  LinkEnds ends({.encrypt = true, .same_host = GENERATE(false, true)});
  ends.a.link().send(numbered(7, 1'000'000));
  const auto frame = ends.b.receive(patience());
  REQUIRE(frame);
  CHECK(frame->header.step == 7);
  const auto unknown = make_zeromq_endpoint({.encrypt = true});
  unknown->add_peer(0, ends.endpoints[0]->address());
  CHECK(unknown->reach(0, std::chrono::milliseconds(200)) == Contact::pending);
  // The key of the address is not that of the process there.
  auto address = ends.endpoints[0]->address();
  address.key = unknown->address().key;
  address.identity = unknown->address().identity;
  ends.endpoints[1]->replace_peer(0, address);
  CHECK(ends.endpoints[1]->reach(0, std::chrono::milliseconds(200)) == Contact::pending);
}

TEST_CASE("processes of other users cannot connect on one machine") {
  const auto endpoints = make_endpoints(2);
  CHECK(endpoints[0]->reach(1, patience()) == Contact::accepted);
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
