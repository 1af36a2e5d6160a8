#include "troupe/transport/frame.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t kMagic = 0x50525454;  // "TTRP"
constexpr std::uint16_t kVersion = 1;
constexpr auto kLastType = FrameType::collective_leave;
constexpr auto kLastDType = DType::bfloat16;
constexpr std::size_t kChecksumAt = kFrameHeaderBytes - sizeof(std::uint64_t);

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

[[noreturn]] void refuse(const std::string& problem) {
  throw Error("frame", problem);
}

template <class Enum>
Enum read_enum(ByteReader& reader, Enum last, const char* name) {
  const auto value = reader.get<std::uint8_t>();
  if (value > static_cast<std::uint8_t>(last)) refuse(std::string(name) + " " + std::to_string(value) + " is unknown");
  return static_cast<Enum>(value);
}

/// Reads a shape. Throws Error if the rank is above Shape::kMaxRank, a size is negative, a size after the last axis is
/// not 0, or the number of elements does not fit in 63 bits.
Shape read_shape(ByteReader& reader) {
  const auto rank = reader.get<std::uint64_t>();
  if (rank > Shape::kMaxRank) refuse("rank " + std::to_string(rank) + " is above " + std::to_string(Shape::kMaxRank));
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  for (auto& size : sizes) size = reader.get<std::int64_t>();
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (axis < rank ? sizes[axis] < 0 : sizes[axis] != 0)
      refuse("size " + std::to_string(sizes[axis]) + " of axis " + std::to_string(axis) + " is impossible");
  const Shape shape(std::span<const std::int64_t>(sizes.data(), rank));
  shape.elements();
  return shape;
}

/// Throws Error if a frame of type `type` must not have `payload`: frames of some types have no payload, and frames of
/// others carry bytes, a tensor uint8[n].
void check_type(FrameType type, const TensorInfo& payload) {
  const bool has_payload = payload.shape.elements() > 0;
  if ((type == FrameType::credit_returned || type == FrameType::data_ended || type == FrameType::collective_ready) &&
      has_payload)
    refuse("its type has no payload, but one is announced");
  const bool bytes = type == FrameType::control || type == FrameType::failure_ready ||
                     type == FrameType::collective_abort || type == FrameType::collective_leave;
  if (bytes && (payload.dtype != DType::uint8 || payload.shape.rank() != 1))
    refuse("its type carries bytes, not " + to_string(payload));
}

DecodedHeader read_fields(ByteReader& reader, std::size_t max_payload_bytes) {
  DecodedHeader decoded;
  auto& header = decoded.header;
  header.type = read_enum(reader, kLastType, "type");
  decoded.payload.dtype = read_enum(reader, kLastDType, "dtype");
  header.edge = reader.get<std::int32_t>();
  header.slot = reader.get<std::int32_t>();
  header.part = reader.get<std::int32_t>();
  if (reader.get<std::uint32_t>() != 0) refuse("reserved bytes are not 0");
  header.generation = reader.get<std::uint64_t>();
  header.run = reader.get<std::int64_t>();
  header.step = reader.get<std::int64_t>();
  decoded.payload.shape = read_shape(reader);
  check_type(header.type, decoded.payload);
  const auto length = reader.get<std::uint64_t>();
  const auto elements = static_cast<std::uint64_t>(decoded.payload.shape.elements());
  if (elements > max_payload_bytes / size_of(decoded.payload.dtype) || length > max_payload_bytes)
    refuse(to_string(decoded.payload) + " is above the limit of " + std::to_string(max_payload_bytes) + " bytes");
  if (length != decoded.payload_bytes())
    refuse(std::to_string(length) + " bytes are announced for " + to_string(decoded.payload));
  decoded.payload_checksum = reader.get<std::uint64_t>();
  return decoded;
}

}  // namespace

Tensor Frame::empty_payload() {
  static const Tensor empty(Shape{0}, DType::uint8);
  return empty;
}

std::size_t DecodedHeader::payload_bytes() const {
  return static_cast<std::size_t>(payload.shape.elements()) * size_of(payload.dtype);
}

EncodedHeader encode_header(const Frame& frame, PayloadChecksum payload_checksum) {
  const auto& header = frame.header;
  const auto& payload = frame.payload;
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(static_cast<std::uint8_t>(header.type));
  writer.put(static_cast<std::uint8_t>(payload.dtype()));
  writer.put(header.edge);
  writer.put(header.slot);
  writer.put(header.part);
  writer.put(std::uint32_t{0});
  writer.put(header.generation);
  writer.put(header.run);
  writer.put(header.step);
  writer.put(static_cast<std::uint64_t>(payload.shape().rank()));
  for (std::size_t axis = 0; axis < Shape::kMaxRank; ++axis)
    writer.put(axis < payload.shape().rank() ? payload.shape()[axis] : std::int64_t{0});
  writer.put(static_cast<std::uint64_t>(payload.bytes()));
  const bool whole = payload_checksum == PayloadChecksum::whole;
  writer.put(whole ? checksum(bytes_in(payload)) : std::uint64_t{0});
  writer.put(checksum(writer.view()));
  EncodedHeader encoded{};
  if (writer.size() != encoded.size()) refuse("a header has " + std::to_string(writer.size()) + " bytes");
  std::ranges::copy(writer.view(), encoded.begin());
  return encoded;
}

DecodedHeader decode_header(std::span<const std::byte> bytes, std::size_t max_payload_bytes) {
  if (bytes.size() != kFrameHeaderBytes)
    refuse("a header has " + std::to_string(kFrameHeaderBytes) + " bytes, not " + std::to_string(bytes.size()));
  ByteReader reader(bytes, "frame");
  if (reader.get<std::uint32_t>() != kMagic) refuse("it does not begin with the magic number");
  const auto version = reader.get<std::uint16_t>();
  if (version != kVersion)
    refuse("version " + std::to_string(version) + " is not " + std::to_string(kVersion) +
           ", which this program speaks");
  ByteReader tail(bytes.subspan(kChecksumAt), "frame");
  if (tail.get<std::uint64_t>() != checksum(bytes.first(kChecksumAt))) refuse("the header's checksum is wrong");
  return read_fields(reader, max_payload_bytes);
}

void check_payload(const DecodedHeader& header, std::span<const std::byte> payload) {
  if (payload.size() != header.payload_bytes())
    refuse("a payload of " + std::to_string(header.payload_bytes()) + " bytes was announced, " +
           std::to_string(payload.size()) + " came");
  if (checksum(payload) != header.payload_checksum) refuse("the payload's checksum is wrong");
}

Tensor payload_of(std::span<const std::byte> bytes) {
  Tensor payload(Shape{static_cast<std::int64_t>(bytes.size())}, DType::uint8);
  std::ranges::copy(bytes, payload.mutable_raw());
  return payload;
}

Tensor failure_payload(const Failure& failure) {
  return payload_of(encode(failure));
}

FailurePtr failure_of(const Tensor& payload) {
  return decode_failure(bytes_in(payload));
}

}  // namespace troupe
