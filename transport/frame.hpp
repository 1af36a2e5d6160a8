#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/payload.hpp"

namespace troupe {

/// The meaning of a frame. Collectives of linked communicators have separate types.
enum class FrameType : std::uint8_t {
  tensor_ready,      ///< the slot of an edge is full: a tensor
  failure_ready,     ///< the slot of an edge is full: the failure in place of a tensor
  credit_returned,   ///< the part `part` has returned the slot of an edge
  data_ended,        ///< no more tensors come on an edge
  control,           ///< bytes for the user of the link; `edge` and `slot` tell their meaning
  collective_ready,  ///< the rank has begun a collective and takes large parts of it
  collective_part,   ///< the contribution of one rank to a collective
  collective_send,   ///< a tensor from rank to rank
  collective_abort,  ///< the failure that ends all collectives
};

/// The fields of a frame besides its payload. Their meaning depends on the type; unused fields are 0.
struct FrameHeader {
  FrameType type = FrameType::control;
  std::int32_t edge = 0;
  std::int32_t slot = 0;
  std::int32_t part = 0;
  std::uint64_t generation = 0;
  std::int64_t run = 0;
  std::int64_t step = 0;

  bool operator==(const FrameHeader&) const = default;
};

/// A header and a tensor, whose dtype and shape the encoded header carries too. Bytes travel as uint8[n].
struct Frame {
  FrameHeader header;
  Tensor payload = empty_payload();
  /// Frames that wait for one connection go in ascending order of their priorities; frames of equal priority keep their
  /// order. A later frame of an edge, or of a collective, must not overtake an earlier one.
  std::int64_t priority = kUrgent;
  /// If given, the other end may read the payload in this process's memory as long as the guard is valid. The link
  /// holds it until the other end has read the payload, or never will.
  std::shared_ptr<const PayloadGuard> guard = {};

  /// The priority of frames without a large payload, which go before all others.
  static constexpr std::int64_t kUrgent = -1;

  /// uint8[0].
  static Tensor empty_payload();
};

/// Bytes of an encoded header.
inline constexpr std::size_t kFrameHeaderBytes = 128;
using EncodedHeader = std::array<std::byte, kFrameHeaderBytes>;

/// The header of a frame as it travels: little-endian, with magic, version, the payload's dtype, shape, length and
/// checksum, and a checksum over the header itself. A payload that travels in pieces with separate checksums has none
/// here.
enum class PayloadChecksum { whole, none };
EncodedHeader encode_header(const Frame& frame, PayloadChecksum checksum = PayloadChecksum::whole);

/// A header that has arrived. Memory for the payload may be allocated only after the header was checked.
struct DecodedHeader {
  FrameHeader header;
  TensorInfo payload;
  std::uint64_t payload_checksum = 0;

  std::size_t payload_bytes() const;
};

/// Checks a header field by field: length, magic, version, checksum, type, dtype, shape and the length that follows
/// from it, which must not be above `max_payload_bytes`. Throws Error that names the field.
DecodedHeader decode_header(std::span<const std::byte> bytes, std::size_t max_payload_bytes);

/// Throws Error if the payload has another length than the header says, or other bytes.
void check_payload(const DecodedHeader& header, std::span<const std::byte> payload);

/// Bytes as the payload of a frame: uint8[n].
Tensor payload_of(std::span<const std::byte> bytes);
/// The bytes of a payload, which must live as long.
inline std::span<const std::byte> bytes_in(const Tensor& payload TROUPE_LIFETIMEBOUND) {
  return {payload.raw(), payload.bytes()};
}

/// A failure as the payload of a frame, and back. Throws Error if the bytes are not a failure.
Tensor failure_payload(const Failure& failure);
FailurePtr failure_of(const Tensor& payload);

}  // namespace troupe
