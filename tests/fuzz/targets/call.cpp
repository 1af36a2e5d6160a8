#include "troupe/actors/calls/call_frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// What a coordinator and its workers send each other; the first byte says which of the three it is.
void call(Input& input) {
  const auto kind = input.byte();
  const auto bytes = input.rest();
  if (kind % 3 == 0)
    (void)encode(decode_call(bytes));
  else if (kind % 3 == 1)
    (void)encode(decode_result(bytes));
  else
    (void)encode(decode_value(bytes));
}

}  // namespace troupe::fuzz
