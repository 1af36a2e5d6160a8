#include "troupe/actors/shard/recording.hpp"

#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// A recording that a file holds, or another process sends.
void recording(Input& input) {
  const auto bytes = input.rest();
  expect(Recording::decode(bytes).encode() == bytes, "a recording is encoded as it came");
}

}  // namespace troupe::fuzz
