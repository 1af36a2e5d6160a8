#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/bytes.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// Bytes as the payload of a frame: uint8[n].
inline Tensor payload_of(std::span<const std::byte> bytes) {
  Tensor payload(Shape{static_cast<std::int64_t>(bytes.size())}, DType::uint8);
  std::ranges::copy(bytes, payload.mutable_raw());
  return payload;
}

/// Writes a member as a part of a HELLO, of an answer, or of the message that a rank has returned.
void write(ByteWriter& writer, const Member& member);
/// Throws Error if the bytes end too early or the role is unknown.
Member read_member(ByteReader& reader);

}  // namespace troupe
