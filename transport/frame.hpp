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

/// The meaning of a frame. An edge of a plan carries tensors from a producer to a consumer. It has numbered slots, each
/// of which holds one tensor until the consumer returns the slot. Linked communicators use the types `collective_...`.
enum class FrameType : std::uint8_t {
  tensor_ready,      ///< a tensor for a slot of an edge
  failure_ready,     ///< a failure in place of the tensor for a slot of an edge
  credit_returned,   ///< the consumer has returned a slot of an edge to the producer
  data_ended,        ///< no more tensors come on an edge
  control,           ///< bytes; the owner of the link defines the meaning of the payload and of the header fields
  collective_ready,  ///< the sender has begun a collective; other ranks send it large parts only afterwards
  collective_part,   ///< elements that one rank sends to another in a collective
  collective_send,   ///< a tensor that one rank sends to another outside of collectives
  collective_abort,  ///< the failure that ends all collectives of the group
  collective_leave,  ///< the failure of the collectives that the sender does not begin
};

/// The fields of a frame besides its payload. Their meaning depends on the type of the frame; unused fields are 0.
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

/// A message on a link: a header and a payload. The payload is a tensor; the encoded header has its dtype and shape.
/// Raw bytes are sent as a tensor uint8[n].
struct Frame {
  FrameHeader header;
  Tensor payload = empty_payload();
  /// The priority of this frame among the frames that wait to be sent on one connection: smaller numbers go first, and
  /// frames of equal priority keep their order. A later frame of an edge, or of a collective, must not have a smaller
  /// number than an earlier one.
  std::int64_t priority = kUrgent;
  /// If not null, the other end may read the payload directly in this process's memory as long as the guard is valid.
  /// The link keeps its handle of the guard until the payload is sent or copied, or the other end has read or dropped
  /// it, or the link has failed.
  std::shared_ptr<const PayloadGuard> guard = {};

  /// The priority of frames without a large payload, which go before all other frames.
  static constexpr std::int64_t kUrgent = -1;

  /// Returns the payload of frames that carry no data: an empty tensor uint8[0].
  static Tensor empty_payload();
};

/// The size of an encoded header, in bytes.
inline constexpr std::size_t kFrameHeaderBytes = 128;
using EncodedHeader = std::array<std::byte, kFrameHeaderBytes>;

/// Whether an encoded header has the checksum of the whole payload, or none because each piece of the payload travels
/// with a checksum of its own.
enum class PayloadChecksum { whole, none };
/// Encodes the header of a frame, little-endian, with magic number, version, the payload's dtype, shape, length and
/// checksum, and a checksum over the header itself.
EncodedHeader encode_header(const Frame& frame, PayloadChecksum checksum = PayloadChecksum::whole);

/// The fields of an encoded header that decode_header() has checked. The receiver may allocate memory for the payload,
/// because its size is within the limit.
struct DecodedHeader {
  FrameHeader header;
  TensorInfo payload;
  std::uint64_t payload_checksum = 0;

  std::size_t payload_bytes() const;
};

/// Checks a header field by field: length, magic number, version, checksum, type, dtype, shape and the payload's
/// length, which must fit the shape and must not exceed `max_payload_bytes`. Throws Error that names the field.
DecodedHeader decode_header(std::span<const std::byte> bytes, std::size_t max_payload_bytes);

/// Throws Error if the payload does not have the length and the checksum that the header announces.
void check_payload(const DecodedHeader& header, std::span<const std::byte> payload);

/// Returns a payload, a tensor uint8[n], with a copy of the bytes.
Tensor payload_of(std::span<const std::byte> bytes);
/// Returns a view of the bytes of a payload; `payload` must outlive it.
inline std::span<const std::byte> bytes_in(const Tensor& payload TROUPE_LIFETIMEBOUND) {
  return {payload.raw(), payload.bytes()};
}

/// Encodes a failure as a payload; failure_of() decodes it and throws Error if the payload is not a failure.
Tensor failure_payload(const Failure& failure);
FailurePtr failure_of(const Tensor& payload);

}  // namespace troupe
