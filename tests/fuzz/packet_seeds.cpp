#include "troupe/tests/fuzz/seeds.hpp"
#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::fuzz {

namespace {

Bytes packet_of(zeromq::PacketHeader header, const Frame* frame = nullptr, const Bytes& bytes = {}) {
  header.bytes = bytes.size();
  if (!bytes.empty()) header.checksum = zeromq::checksum_of(bytes);
  zeromq::PacketStart start{header};
  if (frame != nullptr) start.frame = encode_header(*frame, PayloadChecksum::none);
  return byte(0) + encode(start) + bytes;
}

}  // namespace

Seeds packet_seeds() {
  using zeromq::PacketType;
  const Frame frame{{FrameType::control, 3}, text("abc")};
  return {
      {"introduction", packet_of({.type = PacketType::introduction, .sequence = 1, .checksum = 99})},
      {"nonce_written", packet_of({.type = PacketType::nonce_written, .sequence = 2, .address = 4'096})},
      {"memory_readable", packet_of({.type = PacketType::memory_readable, .sequence = 3})},
      {"frame", packet_of({.type = PacketType::frame, .channel = 5, .sequence = 2, .first = 2}, &frame)},
      {"chunk",
       packet_of({.type = PacketType::chunk, .channel = 5, .sequence = 3, .acknowledged = 4, .first = 2, .offset = 9})},
      {"payload_read", packet_of({.type = PacketType::payload_read, .sequence = 4, .first = 2})},
      {"given_up", packet_of({.type = PacketType::given_up})}};
}

Seeds assembly_seeds() {
  using zeromq::PacketType;
  const Frame frame{{FrameType::control, 3}, text("abcdef")};
  const auto begins = [&](std::uint64_t sequence, std::size_t count) {
    return packet_of({.type = PacketType::frame, .sequence = sequence, .first = sequence}, &frame, Bytes(count));
  };
  const auto goes_on = [](std::uint64_t sequence, std::uint64_t first, std::uint64_t offset, std::size_t count) {
    const zeromq::PacketHeader header{
        .type = PacketType::chunk, .sequence = sequence, .first = first, .offset = offset};
    return packet_of(header, nullptr, Bytes(count));
  };
  return {{"whole", begins(1, 6)},
          {"two", begins(1, 4) + goes_on(2, 1, 4, 2)},
          {"overtaken", begins(1, 2) + begins(2, 6) + goes_on(3, 1, 2, 1) + goes_on(4, 1, 3, 3)}};
}

}  // namespace troupe::fuzz
