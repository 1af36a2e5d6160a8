#include "troupe/transport/membership/rendezvous_messages.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("a HELLO arrives as it was sent; no part of one, and nothing longer, does") {
  const EndpointAddress address{"tcp://a:1", "ipc://@b", "id", "key", "host", 5};
  const Hello hello{"run", 1, 2, {{"seed", "3"}}, {address, address, ProcessRole::server}};
  auto bytes = encode(hello);
  const auto decoded = decode_hello(bytes);
  CHECK(decoded.run_id == "run");
  CHECK(decoded.rank == 1);
  CHECK(decoded.agreement == hello.agreement);
  CHECK(decoded.self.data == address);
  CHECK(decoded.self.role == ProcessRole::server);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_hello(std::span(bytes).first(length)), Error);
  bytes.push_back(std::byte{0});
  CHECK_THROWS_WITH(decode_hello(bytes), Contains("bytes follow its end"));
  bytes[4] = std::byte{9};
  CHECK_THROWS_WITH(decode_hello(bytes), Contains("version 9 of the protocol is not 3"));
}
