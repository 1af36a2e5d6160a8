#include "troupe/tests/fuzz/targets.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

namespace troupe::fuzz {

/// What a process sends first.
void hello(Input& input) {
  const auto bytes = input.rest();
  const auto decoded = decode_hello(bytes);
  expect(encode(decoded) == bytes, "a HELLO is encoded as it came");
  const Agreement mine{{"seed", "3"}, {"data", "0123456789abcdef"}};
  const bool differs = !difference(mine, 0, decoded.agreement, decoded.rank).empty();
  expect(differs == (mine != decoded.agreement), "a difference is named if there is one");
}

}  // namespace troupe::fuzz
