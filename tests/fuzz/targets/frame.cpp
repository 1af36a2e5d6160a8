#include "troupe/transport/frame.hpp"

#include <algorithm>

#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// A frame's header and its payload.
void frame(Input& input) {
  const bool repaired = input.byte() % 2 == 0;
  auto header = input.take(kFrameHeaderBytes);
  const auto payload = input.rest();
  if (repaired) repair(header);
  const auto decoded = decode_header(header, kMostPayloadBytes);
  expect(decoded.payload_bytes() <= kMostPayloadBytes, "no memory is promised beyond the limit");

  Frame again{decoded.header, Tensor(decoded.payload.shape, decoded.payload.dtype)};
  const auto same = decode_header(encode_header(again), kMostPayloadBytes);
  expect(same.header == decoded.header && same.payload == decoded.payload, "a header decodes to the same");

  check_payload(decoded, payload);
  std::ranges::copy(payload, again.payload.mutable_raw());
  expect(std::ranges::equal(encode_header(again), header), "a header is encoded as it came");
}

}  // namespace troupe::fuzz
