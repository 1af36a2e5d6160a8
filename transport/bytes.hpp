#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

/// Appends integers (little-endian), texts and raw bytes to an array of bytes, which the writer owns.
class ByteWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i) & 0xFF));
  }
  /// Appends the length of `text` in bytes, as uint32, and its bytes. Cuts a longer text to its first `limit` bytes.
  void put_text(const std::string& text, std::size_t limit);

  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> view() const { return bytes_; }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads the values that a ByteWriter has written, in the same order. Throws Error if the bytes end too early, or if a
/// text is longer than the `limit` of get_text(). Keeps a view of the bytes, which must outlive the reader.
class ByteReader {
 public:
  /// `place` begins the error texts, as `[place] ...`, and must outlive the reader.
  ByteReader(std::span<const std::byte> bytes, const char* place) : bytes_(bytes), place_(place) {}

  template <class T>
  T get() {
    static_assert(std::is_integral_v<T>);
    const auto raw = next(sizeof(T));
    std::make_unsigned_t<T> value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<std::make_unsigned_t<T>>(value | static_cast<std::make_unsigned_t<T>>(raw[i]) << (8 * i));
    return static_cast<T>(value);
  }
  std::string get_text(std::size_t limit);
  /// Returns the next `elements` elements of `size` bytes each, as a view of the bytes that the constructor got.
  std::span<const std::byte> get_bytes(std::uint64_t elements, std::size_t size);

  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> next(std::size_t count);

  std::span<const std::byte> bytes_;
  const char* place_;
};

}  // namespace troupe
