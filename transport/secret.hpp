#pragma once

#include <string>
#include <string_view>

#include "troupe/transport/sha256.hpp"

namespace troupe {

/// A secret that all processes of a job know, and no other process.
class Secret {
 public:
  /// The secret in a text of at least 32 characters; spaces and line ends around it do not count. Throws Error if the
  /// text is shorter.
  explicit Secret(std::string_view text);

  /// Returns a key that is derived from the secret for one purpose. Neither the secret nor the keys for other purposes
  /// can be derived from it.
  Digest key_for(std::string_view purpose) const;

  bool operator==(const Secret&) const = default;

 private:
  Digest key_;
};

/// Returns 64 random hexadecimal digits from the kernel's generator, as a text for Secret. Throws Error if the kernel
/// gives no random bytes.
std::string random_secret_text();
/// Returns random hexadecimal digits from the kernel's generator; `bytes` is at most 256, and each gives two digits.
std::string random_hex(std::size_t bytes);

/// Returns a text with every byte that is no printable ASCII character in the form `\x1b`, so that a text of another
/// process cannot control a terminal. Cuts a text of more than 256 bytes.
std::string printable(std::string_view text);

}  // namespace troupe
