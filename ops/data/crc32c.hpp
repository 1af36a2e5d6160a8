#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// The CRC-32C of bytes, the checksum of iSCSI (RFC 3720).
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace troupe
