#include "troupe/transport/zeromq/packet.hpp"

#include <algorithm>

#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// The first part of what travels between two processes.
void packet(Input& input) {
  const bool repaired = input.byte() % 2 == 0;
  auto bytes = input.rest();
  if (repaired) repair(std::span(bytes).first(std::min(bytes.size(), zeromq::kPacketHeaderBytes)));
  const auto decoded = zeromq::decode_packet(bytes);
  expect(zeromq::encode(decoded) == bytes, "a packet is encoded as it came");
}

}  // namespace troupe::fuzz
