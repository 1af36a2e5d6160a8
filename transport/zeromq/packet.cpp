#include "troupe/transport/zeromq/packet.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe::zeromq {

namespace {

constexpr std::uint32_t kMagic = 0x4B505254;  // "TRPK"
constexpr std::uint16_t kVersion = 2;
constexpr auto kLastType = PacketType::acknowledgement;

[[noreturn]] void refuse(const std::string& problem) {
  throw Error("packet", problem);
}

PacketHeader read_fields(ByteReader& reader) {
  PacketHeader header;
  const auto type = reader.get<std::uint8_t>();
  if (type > static_cast<std::uint8_t>(kLastType)) refuse("type " + std::to_string(type) + " is unknown");
  header.type = static_cast<PacketType>(type);
  const auto flags = reader.get<std::uint8_t>();
  if (flags != 0) refuse("flags " + std::to_string(flags) + " are unknown");
  for (auto* field : {&header.channel, &header.sequence, &header.acknowledged, &header.first, &header.offset,
                      &header.bytes, &header.address, &header.guard_address, &header.checksum})
    *field = reader.get<std::uint64_t>();
  return header;
}

void check_fields(const PacketHeader& header) {
  const bool has_bytes = header.type == PacketType::frame || header.type == PacketType::chunk;
  if (header.bytes > kPacketBytes) refuse(std::to_string(header.bytes) + " bytes are above the limit");
  if (!has_bytes && header.bytes != 0) refuse("a packet of this type has no bytes, but its header announces some");
  const bool counts = header.type != PacketType::acknowledgement && header.type != PacketType::given_up;
  if (counts != (header.sequence > 0)) refuse("sequence " + std::to_string(header.sequence) + " does not fit the type");
  if (header.type == PacketType::nonce_written) {
    if (header.address == 0 || header.guard_address != 0) refuse("a nonce has one address");
    return;
  }
  if (header.type != PacketType::frame && (header.address != 0 || header.guard_address != 0))
    refuse("a packet of this type has no address, but its header has one");
  if ((header.address != 0) != (header.guard_address != 0) || (header.address != 0 && header.bytes != 0))
    refuse("a payload in memory has two addresses and no bytes");
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::vector<std::byte> encode(const PacketStart& start) {
  const auto& header = start.header;
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(static_cast<std::uint8_t>(header.type));
  writer.put(std::uint8_t{0});  // flags
  for (const auto field : {header.channel, header.sequence, header.acknowledged, header.first, header.offset,
                           header.bytes, header.address, header.guard_address, header.checksum})
    writer.put(field);
  writer.put(checksum_of(writer.view()));
  auto bytes = std::move(writer).take();
  if (start.frame) bytes.insert(bytes.end(), start.frame->begin(), start.frame->end());
  return bytes;
}

PacketStart decode_packet(std::span<const std::byte> bytes) {
  if (bytes.size() != kPacketHeaderBytes && bytes.size() != kPacketHeaderBytes + kFrameHeaderBytes)
    refuse(std::to_string(bytes.size()) + " bytes are no header");
  ByteReader reader(bytes, "packet");
  if (reader.get<std::uint32_t>() != kMagic) refuse("it does not begin with the magic number");
  const auto version = reader.get<std::uint16_t>();
  if (version != kVersion)
    refuse("version " + std::to_string(version) + " is not " + std::to_string(kVersion) +
           ", which this program speaks");
  constexpr auto kChecksumAt = kPacketHeaderBytes - sizeof(std::uint64_t);
  ByteReader tail(bytes.subspan(kChecksumAt), "packet");
  if (tail.get<std::uint64_t>() != checksum_of(bytes.first(kChecksumAt))) refuse("the header's checksum is wrong");
  PacketStart start{read_fields(reader)};
  check_fields(start.header);
  const bool has_frame = bytes.size() > kPacketHeaderBytes;
  if (has_frame != (start.header.type == PacketType::frame))
    refuse("a frame's header must follow in a packet of type frame, and in no other");
  if (has_frame) std::ranges::copy(bytes.subspan(kPacketHeaderBytes), start.frame.emplace().begin());
  return start;
}

void check_bytes(const PacketHeader& header, std::span<const std::byte> bytes) {
  if (bytes.size() != header.bytes)
    refuse(std::to_string(header.bytes) + " bytes were announced, " + std::to_string(bytes.size()) + " came");
  if (!bytes.empty() && checksum_of(bytes) != header.checksum) refuse("the checksum of its bytes is wrong");
}

}  // namespace troupe::zeromq
