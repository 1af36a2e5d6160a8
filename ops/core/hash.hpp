#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

/// Base class of Hash and ByteString: turns values into a sequence of bytes. A function that adds the parts of an
/// object to a ByteSequence thus serves both hashes and comparisons. Two sequences of values of the same types, added
/// by add(), have equal bytes if and only if the values are equal.
class ByteSequence {
 public:
  virtual ~ByteSequence() = default;

  /// Adds `count` bytes, but not the number `count`, unlike add() of a text, which adds its length.
  virtual void add_bytes(const void* bytes, std::size_t count) = 0;
  /// Adds a text with its length, so that "ab" and "c" differ from "a" and "bc".
  void add(std::string_view text);
  /// Adds a number by its value: 0.0 and -0.0 give the same bytes.
  void add(double number);
  template <std::integral T>
  void add(T number) {
    add_integer(static_cast<std::int64_t>(number));
  }

 private:
  void add_integer(std::int64_t number);
};

/// A ByteSequence that keeps the bytes, for comparisons.
class ByteString final : public ByteSequence {
 public:
  void add_bytes(const void* bytes, std::size_t count) override {
    bytes_.append(static_cast<const char*>(bytes), count);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A ByteSequence that hashes the bytes (xxh3, 64 bits). The same values give the same hash in every process and on
/// every little-endian machine.
class Hash final : public ByteSequence {
 public:
  Hash();
  ~Hash() override;
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void add_bytes(const void* bytes, std::size_t count) override;
  std::uint64_t digest() const;
  /// The digest as 16 hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The digest of a Hash to which only `text` is added.
std::uint64_t hash_of_text(std::string_view text);

}  // namespace troupe
