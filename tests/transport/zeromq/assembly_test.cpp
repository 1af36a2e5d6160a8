#include "troupe/transport/zeromq/assembly.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::zeromq;

TEST_CASE("a frame in the memory of a process that was not found to be the peer is refused") {
  auto context = make_context();
  const auto connection = std::make_shared<Connection>(
      context, OwnEnd{.identity = "here", .read_in_place = true}, 1,
      EndpointAddress{.tcp = "tcp://127.0.0.1:1", .ipc = "ipc://@troupe-test-without-listener", .identity = "there"},
      true);
  Assembly assembly(connection, 1'000, 1'000);
  const Frame frame{{}, Tensor(Shape{10}, DType::uint8)};
  const PacketStart start{
      {.type = PacketType::frame, .sequence = 1, .first = 1, .address = 4096, .guard_address = 8192},
      encode_header(frame, PayloadChecksum::none)};
  CHECK_THROWS_WITH(assembly.add(start, {}), Contains("[link]") && Contains("memory that this process cannot read"));
  connection->shut();
}
