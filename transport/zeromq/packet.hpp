#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "troupe/transport/frame.hpp"

namespace troupe::zeromq {

/// What travels between two processes: a message of exactly two parts, a header and bytes.
enum class PacketType : std::uint8_t {
  introduction,  ///< the first packet: who sends it can, or cannot, read the receiver's memory
  frame,         ///< a frame begins: its header follows, and its first bytes, or none if they can be read in place
  chunk,         ///< further bytes of a frame
  payload_read,  ///< the payload that was to be read in place has been
  channel_closed,
  given_up,         ///< the sender takes nothing more: what had come was damaged, or too much
  acknowledgement,  ///< nothing but the field of that name
};

/// What a packet says besides its bytes. Unused fields are 0.
struct PacketHeader {
  PacketType type = PacketType::acknowledgement;
  bool can_read_memory = false;
  std::uint64_t channel = 0;
  /// Counts packets in this direction from 1; acknowledgements, and the last word, have 0.
  std::uint64_t sequence = 0;
  /// The last packet of the other direction that has arrived.
  std::uint64_t acknowledged = 0;
  /// The sequence of the packet that began the frame.
  std::uint64_t first = 0;
  /// Where in the frame's payload the bytes belong, and how many they are.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  /// Not 0: the payload lies there in the sender's memory, and the word of its guard there.
  std::uint64_t address = 0;
  std::uint64_t guard_address = 0;
  /// xxh3 of the bytes, or of a payload in the sender's memory what the word of its guard holds while it is valid.
  std::uint64_t checksum = 0;

  bool operator==(const PacketHeader&) const = default;
};

inline constexpr std::size_t kPacketHeaderBytes = 88;
/// Bytes of a payload in one packet at most.
inline constexpr std::size_t kPacketBytes = std::size_t{4} << 20;
/// Below this a message is cheaper than a read in another process.
inline constexpr std::size_t kReadInPlaceBytes = 16'384;

/// A packet's first part. `frame` follows if the packet begins one.
struct PacketStart {
  PacketHeader header;
  std::optional<EncodedHeader> frame = {};
};

std::vector<std::byte> encode(const PacketStart& start);

/// Checks what arrived field by field: length, magic, version, checksum, type, and that the fields fit together. Throws
/// Error that names the field.
PacketStart decode_packet(std::span<const std::byte> bytes);

/// Throws Error if the second part has another length than the header says, or other bytes.
void check_bytes(const PacketHeader& header, std::span<const std::byte> bytes);

/// xxh3, 64 bits.
std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace troupe::zeromq
