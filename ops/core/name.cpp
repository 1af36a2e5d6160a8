#include "troupe/ops/core/name.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

bool has_form(unsigned char byte, unsigned char mask, unsigned char form) {
  return (byte & mask) == form;
}

/// The number of bytes of the character at the beginning of `text`; 0 if this is no character of UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = first < 0x80                  ? 1
                            : has_form(first, 0xe0, 0xc0) ? 2
                            : has_form(first, 0xf0, 0xe0) ? 3
                            : has_form(first, 0xf8, 0xf0) ? 4
                                                          : 0;
  if (bytes > text.size()) return 0;
  char32_t code = bytes == 1 ? first : first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (!has_form(next, 0xc0, 0x80)) return 0;
    code = code << 6U | (next & 0x3fU);
  }
  // A character has one encoding, the shortest, and surrogates are no characters.
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool is_character = code >= kLeast[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return is_character ? bytes : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool is_unprintable(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f || letter == '"' || letter == '\\';
}

/// The beginning of a name, as an error shows it: a dot stands for a byte that is no letter of ASCII.
std::string shown(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text(name.substr(0, kShown));
  std::ranges::replace_if(
      text, [](char letter) { return is_unprintable(letter) || static_cast<unsigned char>(letter) >= 0x80; }, '.');
  return "'" + text + (name.size() > kShown ? "...'" : "'");
}

}  // namespace

void expect_name(std::string_view place, std::string_view what, std::string_view name, std::size_t most_bytes) {
  const std::string subject(what);
  if (name.empty()) throw Error(place, subject + " needs a name");
  if (name.size() > most_bytes)
    throw Error(place, "the name " + shown(name) + " of " + subject + " has " + std::to_string(name.size()) +
                           " bytes; at most " + std::to_string(most_bytes) + " are possible");
  if (const auto* letter = std::ranges::find_if(name, is_unprintable); letter != name.end()) {
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "0x%02x", static_cast<unsigned>(static_cast<unsigned char>(*letter)));
    throw Error(place, "the name " + shown(name) + " of " + subject + " has the character " + code.data() +
                           " at position " + std::to_string(letter - name.begin()) +
                           "; control characters, quotation marks and backslashes are not possible");
  }
  if (!is_utf8(name)) throw Error(place, "the name " + shown(name) + " of " + subject + " is not valid UTF-8");
}

}  // namespace troupe
