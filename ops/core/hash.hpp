#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

/// A hash of a sequence of things (xxh3, 64 bits). The same sequence gives the same hash in every process and on every
/// little-endian machine.
class Hash {
 public:
  Hash();
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  /// The bytes alone, without their number.
  Hash& add_bytes(const void* bytes, std::size_t count);
  /// A text with its length, so that "ab" and "c" differ from "a" and "bc".
  Hash& add(std::string_view text);
  /// A number by its value: 0.0 and -0.0 are the same.
  Hash& add(double number);
  template <std::integral T>
  Hash& add(T number) {
    return add_integer(static_cast<std::int64_t>(number));
  }

  std::uint64_t digest() const;
  /// The digest as 16 hexadecimal digits.
  std::string hex() const;

 private:
  Hash& add_integer(std::int64_t number);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
