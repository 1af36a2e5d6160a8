#include "troupe/transport/failure.hpp"

#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// A failure with its causes.
void failure(Input& input) {
  const auto bytes = input.rest();
  const auto decoded = decode_failure(bytes);
  expect(encode(*decoded) == bytes, "a failure is encoded as it came");
  for (auto cause = decoded; cause; cause = cause->cause)
    expect(to_string(*cause).size() >= cause->what.size() && !to_string(cause->kind).empty(), "a failure has a text");
}

}  // namespace troupe::fuzz
