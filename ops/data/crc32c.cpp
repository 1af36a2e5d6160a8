#include "troupe/ops/data/crc32c.hpp"

#include <array>
#include <cstring>

namespace troupe {

namespace {

constexpr std::size_t kSlices = 8;
using CrcTable = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// Entry [k][b] is the checksum of byte b with k zero bytes behind it.
constexpr CrcTable make_table() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, bits reversed
  CrcTable table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    auto crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ kPolynomial : crc >> 1;
    table[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto before = table[slice - 1][byte];
      table[slice][byte] = before >> 8 ^ table[0][before & 0xFF];
    }
  return table;
}

constexpr CrcTable kCrcTable = make_table();

}  // namespace

// Eight bytes at a time, by a table for each. Source: M. Kounavis and F. Berry, "A systematic approach to building high
// performance software-based CRC generators" (2005). Needs a little-endian machine.
std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  while (bytes.size() >= kSlices) {
    std::array<std::uint8_t, kSlices> next{};
    std::memcpy(next.data(), bytes.data(), kSlices);
    std::uint32_t low = 0;
    std::memcpy(&low, next.data(), sizeof(low));
    low ^= crc;
    crc = kCrcTable[7][low & 0xFF] ^ kCrcTable[6][low >> 8 & 0xFF] ^ kCrcTable[5][low >> 16 & 0xFF] ^
          kCrcTable[4][low >> 24] ^ kCrcTable[3][next[4]] ^ kCrcTable[2][next[5]] ^ kCrcTable[1][next[6]] ^
          kCrcTable[0][next[7]];
    bytes = bytes.subspan(kSlices);
  }
  for (const auto byte : bytes) crc = crc >> 8 ^ kCrcTable[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace troupe
