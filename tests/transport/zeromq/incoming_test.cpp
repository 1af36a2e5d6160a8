#include "troupe/transport/zeromq/incoming.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"
#include "troupe/transport/acceptor.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

using Strangers = std::vector<std::unique_ptr<Stranger>>;

/// Connects one stranger after the other to an address; each sends the greeting of ZeroMQ and then nothing.
Strangers silent_strangers(const std::string& address, int count) {
  Strangers strangers;
  for (int i = 0; i < count; ++i) {
    strangers.push_back(std::make_unique<Stranger>(address));
    REQUIRE(strangers.back()->connected());
    strangers.back()->send(std::string("\xFF\0\0\0\0\0\0\0\x01\x7F\x03", 11));
  }
  return strangers;
}

std::ptrdiff_t open_among(const Strangers& strangers) {
  return std::ranges::count_if(strangers, [](const auto& stranger) { return !stranger->is_closed(); });
}

}  // namespace

TEST_CASE("an endpoint keeps few connections of strangers, the last ones, and those of its peers") {
  const bool encrypt = GENERATE(false, true);
  const auto endpoints = make_endpoints(3, {.encrypt = encrypt, .same_host = false});
  const auto& listener = *endpoints[0];
  const auto here = endpoints[0]->link(1, "link"), there = endpoints[1]->link(0, "link");
  const auto arrives = [&](std::int64_t step) {
    there->send({.header = {.step = step}});
    return eventually([&] {
      const auto frame = here->receive();
      return frame && frame->header.step == step;
    });
  };
  CHECK(arrives(1));
  // Two peers and eight strangers, of which one has the place of the peer that is not connected.
  const auto strangers = silent_strangers(listener.address().tcp, 40);
  CHECK(eventually([&] { return open_among(strangers) == 9; }));
  CHECK_FALSE(strangers.back()->is_closed());
  CHECK(arrives(2));
  // A peer that connects now takes the place of a stranger.
  CHECK(endpoints[2]->reach(0, patience()) == Contact::accepted);
  CHECK(eventually([&] { return open_among(strangers) == 8; }));
  CHECK(here->failure() == nullptr);
}

TEST_CASE("a client comes to an acceptor at which many strangers are silent") {
  const ReservedPort port;
  const Secret secret(std::string(32, 's'));
  const auto address = "tcp://" + port.address();
  const auto acceptor = make_acceptor({address}, secret, 4, patience());
  const auto received = [&] { return acceptor->receive(std::chrono::steady_clock::now() + patience()); };
  const auto first = connect_to_acceptor(address, secret, patience());
  first->send(std::vector(1, std::byte{1}));
  REQUIRE(received());
  const auto strangers = silent_strangers(address, 200);
  const auto second = connect_to_acceptor(address, secret, patience());
  second->send(std::vector(1, std::byte{2}));
  CHECK(received()->bytes == std::vector(1, std::byte{2}));
  CHECK(open_among(strangers) < 132);
  first->send(std::vector(1, std::byte{3}));
  CHECK(received()->bytes == std::vector(1, std::byte{3}));
}
