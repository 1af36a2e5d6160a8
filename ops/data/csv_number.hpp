#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// An exact decimal number: `digits`, read as an integer, times ten to the power of `exponent`.
struct CsvDecimal {
  bool negative = false;
  /// The digits, of which neither the first nor the last is 0. Zero has no digits.
  std::string digits;
  std::int64_t exponent = 0;

  bool is_integer() const { return exponent >= 0; }
  /// The number without its sign, or nothing if it exceeds 64 bits. The number must be an integer.
  std::optional<std::uint64_t> magnitude() const;
};

/// Parses an optional sign, digits with an optional decimal point before, among or behind them, and an optional
/// exponent. Returns nothing for any other text. The time depends on the length of the text, not on the exponent.
std::optional<CsvDecimal> parse_csv_decimal(std::string_view text);

/// The number as a T, or nothing if it is out of the range of T. The number must be an integer.
template <std::integral T>
std::optional<T> to_integer(const CsvDecimal& number) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  constexpr auto kSmallest = std::signed_integral<T> ? kLargest + 1 : 0;  // without its sign
  const auto magnitude = number.magnitude();
  if (!magnitude || *magnitude > (number.negative ? kSmallest : kLargest)) return std::nullopt;
  return static_cast<T>(number.negative ? 0 - *magnitude : *magnitude);
}

/// The float32 that is nearest to the number in the text, which is an infinity if the number is too large. Returns
/// nothing if the text is not a number.
std::optional<float> parse_csv_float(const std::string& text);

}  // namespace troupe
