#include "troupe/transport/secret.hpp"

#include <unistd.h>

#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::size_t kMinSecretCharacters = 32;
constexpr std::size_t kSecretBytes = 32;
constexpr char kHexDigits[] = "0123456789abcdef";

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string_view trimmed(std::string_view text) {
  constexpr auto kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

}  // namespace

Secret::Secret(std::string_view text) : key_(sha256(bytes_of_text(trimmed(text)))) {
  const auto characters = trimmed(text).size();
  if (characters < kMinSecretCharacters)
    throw Error("secret", "a secret of " + std::to_string(characters) + " characters is too short, at least " +
                              std::to_string(kMinSecretCharacters) +
                              " are needed: make one with `openssl rand -hex 32`");
}

Digest Secret::key_for(std::string_view purpose) const {
  return hmac_sha256(key_, bytes_of_text(purpose));
}

std::string random_secret_text() {
  return random_hex(kSecretBytes);
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (getentropy(random.data(), random.size()) != 0) throw Error("secret", "the kernel gives no random bytes");
  std::string text;
  for (const auto byte : random) {
    text += kHexDigits[byte / 16];
    text += kHexDigits[byte % 16];
  }
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 256;
  std::string escaped;
  for (const auto c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F)
      escaped += c;
    else
      escaped += std::string("\\x") + kHexDigits[byte / 16] + kHexDigits[byte % 16];
  }
  return escaped + (text.size() > kLongest ? "..." : "");
}

}  // namespace troupe
