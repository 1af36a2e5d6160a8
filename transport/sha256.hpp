#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace troupe {

/// A hash or a key of 256 bits.
using Digest = std::array<std::byte, 32>;

/// Returns the SHA-256 hash of bytes (FIPS 180-4).
Digest sha256(std::span<const std::byte> bytes);

/// Returns the HMAC of `message` under `key`, with SHA-256 (RFC 2104). Without the key, neither a valid HMAC can be
/// made nor the key be derived from HMACs.
Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Whether two digests are equal. The time does not depend on the digests, so it reveals nothing about them.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace troupe
