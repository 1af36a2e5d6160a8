#include "troupe/tests/fuzz/targets.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

namespace troupe::fuzz {

/// What rank 0 answers to a HELLO.
void answer(Input& input) {
  const auto bytes = input.rest();
  expect(encode(decode_answer(bytes)) == bytes, "an answer is encoded as it came");
}

}  // namespace troupe::fuzz
