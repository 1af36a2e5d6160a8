#include "troupe/transport/zeromq/assembly.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

namespace {

using namespace zeromq;

constexpr std::size_t kTypeAt = 6, kBytesAt = 48, kChecksumAt = kPacketHeaderBytes - 16;

/// A connection that has failed, and that has found no memory of another process: frames that lie there are refused.
const std::shared_ptr<Connection>& closed_connection() {
  static auto context = make_context();
  static const auto connection = [] {
    auto made = std::make_shared<Connection>(context, OwnEnd{.identity = "fuzz"}, 1,
                                             EndpointAddress{.tcp = "inproc://unbound"}, false);
    made->fail(connection_failure("closed"));
    return made;
  }();
  return connection;
}

struct Packet {
  PacketStart start;
  zmq::message_t bytes;
};

std::size_t announced(const std::vector<std::byte>& header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < sizeof length; ++i)
    length |= std::to_integer<std::size_t>(header[kBytesAt + i]) << (8 * i);
  return length;
}

/// A byte, even if the checksums are to be repaired, then the header, that of the frame if one begins, and the bytes.
Packet read_packet(Input& input) {
  const bool repaired = input.byte() % 2 == 0;
  auto header = input.take(kPacketHeaderBytes);
  if (header.size() < kPacketHeaderBytes) throw Error("fuzz", "the input ends");
  const bool begins = header[kTypeAt] == static_cast<std::byte>(PacketType::frame);
  auto frame = input.take(begins ? kFrameHeaderBytes : 0);
  const auto bytes = input.take(announced(header));
  if (repaired) {
    if (!bytes.empty()) put(header, kChecksumAt, checksum_of(bytes));
    repair(header);
    repair(frame);
  }
  header.insert(header.end(), frame.begin(), frame.end());
  return {decode_packet(header), zmq::message_t(bytes.data(), bytes.size())};
}

}  // namespace

/// Packets of one peer, and the frames they make.
void assembly(Input& input) {
  Assembly assembly(closed_connection(), kMostPayloadBytes, 2 * kMostPayloadBytes);
  std::uint64_t sequence = 0;
  while (!input.at_end()) {
    auto packet = read_packet(input);
    // Nothing else gets past the connection.
    if (packet.start.header.sequence != ++sequence) throw Error("fuzz", "a packet was lost");
    const auto frame = assembly.add(packet.start, std::move(packet.bytes));
    if (!frame) continue;
    expect(frame->payload->bytes() <= kMostPayloadBytes, "no frame is larger than allowed");
    if (frame->payload->local() != nullptr)
      expect(frame->payload->tensor().bytes() == frame->payload->bytes(), "a payload is whole");
  }
}

}  // namespace troupe::fuzz
