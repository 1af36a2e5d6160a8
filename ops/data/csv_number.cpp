#include "troupe/ops/data/csv_number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>
#include <system_error>

namespace troupe {

namespace {

/// The largest exponent that is told from larger ones. No text in memory has that many digits, so a larger exponent
/// would change no result.
constexpr std::int64_t kLargestCsvExponent = 100'000'000'000'000'000;

/// True if the text begins with `symbol`, which is then removed.
bool take_symbol(std::string_view& text, char symbol) {
  if (!text.starts_with(symbol)) return false;
  text.remove_prefix(1);
  return true;
}

/// Removes the sign with which the text begins, if there is one. True if it is a minus.
bool take_sign(std::string_view& text) {
  const bool negative = take_symbol(text, '-');
  if (!negative) take_symbol(text, '+');
  return negative;
}

/// Removes the digits with which the text begins, and returns them.
std::string_view take_digits(std::string_view& text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

/// The exponent in the text that follows the digits of a number: 0 if there is no text, nothing if it is no exponent.
std::optional<std::int64_t> exponent_of(std::string_view text) {
  if (text.empty()) return 0;
  if (!take_symbol(text, 'e') && !take_symbol(text, 'E')) return std::nullopt;
  const bool negative = take_sign(text);
  const auto digits = take_digits(text);
  if (digits.empty() || !text.empty()) return std::nullopt;
  std::int64_t exponent = 0;
  for (const char digit : digits) exponent = std::min(exponent * 10 + (digit - '0'), kLargestCsvExponent);
  return negative ? -exponent : exponent;
}

/// Removes the zeros before and behind the digits that matter.
void trim_zeros(CsvDecimal& number) {
  auto& digits = number.digits;
  const auto used = digits.find_last_not_of('0') + 1;  // 0 if all digits are 0
  number.exponent = used == 0 ? 0 : number.exponent + static_cast<std::int64_t>(digits.size() - used);
  digits.resize(used);
  digits.erase(0, digits.find_first_not_of('0'));
}

/// The number in a text whose number is outside the range of float. A stream of the classic locale turns a number that
/// is too small into zero or a subnormal number, and fails for a number that is too large, whose sign it keeps. strtof
/// would read the decimal separator of the program's locale.
float float_out_of_range(const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  float number = 0.0F;
  return stream >> number ? number : std::copysign(std::numeric_limits<float>::infinity(), number);
}

}  // namespace

std::optional<std::uint64_t> CsvDecimal::magnitude() const {
  constexpr auto kLargest = std::numeric_limits<std::uint64_t>::max();
  if (digits.empty()) return 0;
  const auto size = static_cast<std::int64_t>(digits.size()) + exponent;
  if (size > std::numeric_limits<std::uint64_t>::digits10 + 1) return std::nullopt;
  std::uint64_t number = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto digit = at < digits.size() ? static_cast<std::uint64_t>(digits[at] - '0') : 0;
    if (number > (kLargest - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return number;
}

std::optional<CsvDecimal> parse_csv_decimal(std::string_view text) {
  CsvDecimal number;
  number.negative = take_sign(text);
  number.digits = take_digits(text);
  const auto fraction = take_symbol(text, '.') ? take_digits(text) : std::string_view();
  number.digits += fraction;
  const auto exponent = exponent_of(text);
  if (number.digits.empty() || !exponent) return std::nullopt;
  number.exponent = *exponent - static_cast<std::int64_t>(fraction.size());
  trim_zeros(number);
  return number;
}

std::optional<float> parse_csv_float(const std::string& text) {
  const bool has_plus = text.starts_with('+') && !text.starts_with("+-");
  const auto* const last = text.data() + text.size();
  float number = 0.0F;
  const auto [end, code] = std::from_chars(text.data() + (has_plus ? 1 : 0), last, number);
  if (end != last || code == std::errc::invalid_argument || std::isnan(number)) return std::nullopt;
  return code == std::errc::result_out_of_range ? float_out_of_range(text) : number;
}

}  // namespace troupe
