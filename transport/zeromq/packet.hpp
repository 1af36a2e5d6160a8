#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "troupe/transport/frame.hpp"

namespace troupe::zeromq {

/// The kinds of packets between two processes. A packet is a ZeroMQ message of exactly two parts: a header, and bytes
/// that may be empty.
enum class PacketType : std::uint8_t {
  introduction,     ///< the first packet; `checksum` is a nonce that the receiver writes into its memory, or 0
  nonce_written,    ///< the sender has written the receiver's nonce at `address` of its memory
  memory_readable,  ///< the sender has found its nonce there: it can read payloads in the receiver's memory
  frame,            ///< begins a frame: header and first bytes, or no bytes if the receiver reads them in place
  chunk,            ///< further bytes of a frame
  payload_read,     ///< the sender of this packet has read, or dropped, a payload in the memory of the receiver
  channel_closed,   ///< the sender has closed its end of a link
  given_up,         ///< the sender accepts no further packets, because one was damaged or above a limit
  acknowledgement,  ///< carries only the field `acknowledged`
};

/// The fields of a packet. Unused fields are 0.
struct PacketHeader {
  PacketType type = PacketType::acknowledgement;
  /// The number of the link: the hash of its name.
  std::uint64_t channel = 0;
  /// The number, from 1, of this packet among those from its sender. Packets of the types `acknowledgement` and
  /// `given_up` have 0 and are not counted.
  std::uint64_t sequence = 0;
  /// The sequence number of the last packet that the sender of this packet has received.
  std::uint64_t acknowledged = 0;
  /// The sequence number of the packet that began the frame, in packets of the types `frame`, `chunk` and
  /// `payload_read`.
  std::uint64_t first = 0;
  /// The position of the packet's bytes in the payload of the frame, and the number of these bytes.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  /// The address, in the sender's memory, of a payload that the receiver reads in place, and the address of the word of
  /// the payload's guard. Both are 0 for other payloads. In a packet of type `nonce_written`, `address` is that of the
  /// receiver's nonce.
  std::uint64_t address = 0;
  std::uint64_t guard_address = 0;
  /// The xxh3 hash, 64 bits, of the packet's bytes. For a payload that is read in place: the value of the guard's word
  /// while the payload is valid. In an introduction: the sender's nonce.
  std::uint64_t checksum = 0;

  bool operator==(const PacketHeader&) const = default;
};

inline constexpr std::size_t kPacketHeaderBytes = 88;
/// The largest second part of a packet, in bytes. A connection that has not proved that it belongs to the job can take
/// as much memory.
inline constexpr std::size_t kPacketBytes = std::size_t{4} << 20;
/// The largest second part of a packet between endpoints that encrypt. They carry control messages, which are small.
inline constexpr std::size_t kEncryptedPacketBytes = std::size_t{1} << 16;
/// The smallest payload, in bytes, that a receiver on the same host reads in place, in the sender's memory. Sending a
/// smaller payload is cheaper.
inline constexpr std::size_t kReadInPlaceBytes = 16'384;

/// The first part of a packet: its header, and the header of a frame if the packet begins one.
struct PacketStart {
  PacketHeader header;
  std::optional<EncodedHeader> frame = {};
};

std::vector<std::byte> encode(const PacketStart& start);

/// Decodes the first part of a packet. Throws Error that names the wrong field if the length, magic number, version,
/// checksum or type is wrong, or if the fields do not fit together.
PacketStart decode_packet(std::span<const std::byte> bytes);

/// Throws Error if the second part of a packet has another length or checksum than the header says.
void check_bytes(const PacketHeader& header, std::span<const std::byte> bytes);

/// Returns the xxh3 hash, 64 bits, of bytes.
std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace troupe::zeromq
