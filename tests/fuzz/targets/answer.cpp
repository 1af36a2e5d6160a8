#include "troupe/transport/membership/answer.hpp"

#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// What rank 0 answers to a HELLO.
void answer(Input& input) {
  const auto bytes = input.rest();
  expect(encode(decode_answer(bytes)) == bytes, "an answer is encoded as it came");
}

}  // namespace troupe::fuzz
