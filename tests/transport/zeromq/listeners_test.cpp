#include "troupe/transport/zeromq/listeners.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("an endpoint listens at TCP once a peer needs it") {
  const auto here = make_zeromq_endpoint({}), there = make_zeromq_endpoint({});
  auto far = there->address();
  far.host = "another";
  here->add_peer(1, far);
  there->add_peer(0, here->address());
  CHECK(eventually([&] { return Stranger(here->address().tcp).connected(); }));
  CHECK_FALSE(Stranger(there->address().tcp).connected());
}

TEST_CASE("an address at which no socket can listen is refused") {
  CHECK_THROWS_WITH(make_zeromq_endpoint({.bind = "tcp://192.0.2.1:*"}), Contains("tcp://192.0.2.1:* cannot be bound"));
}
