#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "troupe/transport/frame.hpp"

namespace troupe::zeromq {

/// The kinds of packets between two processes. A packet is a message of exactly two parts: a header, and bytes that may
/// be empty.
enum class PacketType : std::uint8_t {
  introduction,     ///< the first packet: whether the sender can read the receiver's memory
  frame,            ///< begins a frame: its header, and its first bytes or, if they can be read in place, none
  chunk,            ///< further bytes of a frame
  payload_read,     ///< the receiver has read a payload in place, or does not need it any more
  channel_closed,   ///< the sender has closed its end of a link
  given_up,         ///< the sender takes no further packets: some were damaged or too many
  acknowledgement,  ///< carries only the field of that name
};

/// The fields of a packet. Unused fields are 0.
struct PacketHeader {
  PacketType type = PacketType::acknowledgement;
  bool can_read_memory = false;
  std::uint64_t channel = 0;
  /// Counts the packets of this direction from 1. Acknowledgements and `given_up` have 0 and are not counted.
  std::uint64_t sequence = 0;
  /// The sequence number of the last packet of the other direction that has arrived.
  std::uint64_t acknowledged = 0;
  /// The sequence number of the packet that began the frame.
  std::uint64_t first = 0;
  /// The position in the frame's payload and the number of the bytes.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  /// The address of a payload that is read in place in the sender's memory, and of the word of its guard. Otherwise 0.
  std::uint64_t address = 0;
  std::uint64_t guard_address = 0;
  /// xxh3 of the bytes. For a payload that is read in place: the value of the guard's word while the payload is valid.
  std::uint64_t checksum = 0;

  bool operator==(const PacketHeader&) const = default;
};

inline constexpr std::size_t kPacketHeaderBytes = 88;
/// The most bytes of a payload in one packet.
inline constexpr std::size_t kPacketBytes = std::size_t{4} << 20;
/// Payloads below this are sent, which is cheaper than a read in another process's memory.
inline constexpr std::size_t kReadInPlaceBytes = 16'384;

/// The first part of a packet. `frame` follows the header if the packet begins a frame.
struct PacketStart {
  PacketHeader header;
  std::optional<EncodedHeader> frame = {};
};

std::vector<std::byte> encode(const PacketStart& start);

/// Checks the fields of an arrived packet: length, magic, version, checksum, type, and that the fields fit together.
/// Throws Error that names the field.
PacketStart decode_packet(std::span<const std::byte> bytes);

/// Throws Error if the second part of a packet has another length or checksum than the header says.
void check_bytes(const PacketHeader& header, std::span<const std::byte> bytes);

/// xxh3, 64 bits.
std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace troupe::zeromq
