#include "troupe/transport/zeromq/packet.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::zeromq;

namespace {

std::vector<PacketStart> examples() {
  const Frame frame{{FrameType::tensor_ready, 7, 1, 2, 11, 3, 5}, Tensor(Shape{2, 3}, DType::float32)};
  const auto header = encode_header(frame, PayloadChecksum::none);
  return {{{.type = PacketType::introduction, .sequence = 1, .checksum = 99}},
          {{.type = PacketType::nonce_written, .sequence = 2, .address = 4096}},
          {{.type = PacketType::memory_readable, .sequence = 3}},
          {{.type = PacketType::frame,
            .channel = 9,
            .sequence = 2,
            .acknowledged = 5,
            .first = 2,
            .bytes = 24,
            .checksum = 77},
           header},
          {{.type = PacketType::frame, .channel = 9, .sequence = 2, .first = 2, .address = 4096, .guard_address = 8192},
           header},
          {{.type = PacketType::chunk, .channel = 9, .sequence = 3, .first = 2, .offset = 24, .bytes = kPacketBytes}},
          {{.type = PacketType::payload_read, .sequence = 4, .first = 2}},
          {{.type = PacketType::channel_closed, .channel = 9, .sequence = 5}},
          {{.type = PacketType::given_up}},
          {{.acknowledged = 12}}};
}

}  // namespace

TEST_CASE("a packet of every type arrives as it was sent") {
  for (const auto& packet : examples()) {
    const auto decoded = decode_packet(encode(packet));
    CHECK(decoded.header == packet.header);
    CHECK(decoded.frame == packet.frame);
  }
}

TEST_CASE("every truncation and every flipped bit of a packet's header is refused") {
  for (const auto& packet : examples()) {
    const auto good = encode(packet);
    for (std::size_t length = 0; length < good.size(); ++length) {
      if (packet.frame && length == kPacketHeaderBytes) continue;  // whole, but without its frame: see below
      CHECK_THROWS_AS(decode_packet(std::span(good).first(length)), Error);
    }
    for (std::size_t bit = 0; bit < 8 * kPacketHeaderBytes; ++bit) {
      auto bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      CHECK_THROWS_AS(decode_packet(bad), Error);
    }
  }
}

TEST_CASE("fields of a packet that do not fit together are refused") {
  const auto refused = [](const PacketStart& packet, const char* text) {
    CHECK_THROWS_WITH(decode_packet(encode(packet)), Contains("[packet]") && Contains(text));
  };
  refused({{.type = PacketType::frame, .sequence = 1}}, "frame's header");
  refused({{.type = PacketType::chunk, .sequence = 1}, EncodedHeader{}}, "frame's header");
  refused({{.type = PacketType::chunk, .sequence = 1, .bytes = kPacketBytes + 1}}, "above the limit");
  refused({{.type = PacketType::channel_closed, .sequence = 1, .bytes = 1}}, "has no bytes");
  refused({{.type = PacketType::chunk}}, "sequence 0");
  refused({{.sequence = 1}}, "sequence 1");
  refused({{.type = PacketType::chunk, .sequence = 1, .address = 1, .guard_address = 1}}, "has no address");
  refused({{.type = PacketType::frame, .sequence = 1, .address = 1}, EncodedHeader{}}, "two addresses");
  refused({{.type = PacketType::nonce_written, .sequence = 1}}, "one address");
  refused({{.type = PacketType::nonce_written, .sequence = 1, .address = 1, .guard_address = 1}}, "one address");
}

TEST_CASE("bytes that are not those of the header are refused") {
  std::vector<std::byte> bytes(1000, std::byte{3});
  PacketHeader header{.type = PacketType::chunk, .sequence = 1, .bytes = 1000, .checksum = checksum_of(bytes)};
  CHECK_NOTHROW(check_bytes(header, bytes));
  CHECK_THROWS_WITH(check_bytes(header, std::span(bytes).first(999)), Contains("999 came"));
  bytes[500] = std::byte{2};
  CHECK_THROWS_WITH(check_bytes(header, bytes), Contains("checksum"));
}
