#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::fuzz {

/// What the fuzzer has made up, read from the front. Every piece is memory of its own, so that a sanitizer sees whoever
/// reads past its end.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  /// The next byte, 0 at the end.
  std::uint8_t byte();
  /// So many bytes, or those that are left.
  std::vector<std::byte> take(std::size_t count);
  std::vector<std::byte> rest() { return take(bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
};

/// Replaces the checksum that ends a header of a frame or a packet: a fuzzer would not find one.
void repair(std::span<std::byte> header);
/// Writes 8 bytes, little-endian, to a place in a header.
void put(std::span<std::byte> header, std::size_t place, std::uint64_t value);

/// If this does not hold, ends the program, which the fuzzer reports as a finding.
void expect(bool holds, const char* what);

}  // namespace troupe::fuzz
