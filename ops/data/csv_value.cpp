#include "troupe/ops/data/csv_value.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/csv_number.hpp"

namespace troupe {

namespace {

[[noreturn]] void refuse_csv_text(const std::string& text, const std::string& what) {
  throw std::invalid_argument("'" + text + "' " + what);
}

float csv_float(const std::string& text) {
  const auto number = parse_csv_float(text);
  if (!number) refuse_csv_text(text, "is not a number");
  if (std::isinf(*number)) refuse_csv_text(text, "is too large");
  return *number;
}

/// The integer in the text. It is read from the digits, not through a double, because a double does not hold every
/// 64-bit integer.
template <class T>
T csv_integer(const std::string& text, DType dtype) {
  const auto* const last = text.data() + text.size();
  // Most texts are plain digits.
  T plain{};
  if (const auto [end, code] = std::from_chars(text.data(), last, plain); end == last && code == std::errc())
    return plain;
  const auto number = parse_csv_decimal(text);
  // A text that is a float32 but not a decimal is an infinity.
  if (!number) refuse_csv_text(text, parse_csv_float(text) ? "is too large" : "is not a number");
  if (!number->is_integer()) refuse_csv_text(text, "is not an integer");
  const auto integer = to_integer<T>(*number);
  if (!integer) refuse_csv_text(text, "is out of the range of " + std::string(name_of(dtype)));
  return *integer;
}

/// The number in `digits` digits of a text from `at` on; -1 if there are other characters.
int digits_at(const std::string& text, std::size_t at, std::size_t digits) {
  if (text.size() < at + digits) return -1;
  int number = 0;
  for (auto i = at; i < at + digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

/// The days since 1970-01-01 of the date with which a text begins.
std::int64_t days_of(const std::string& text) {
  const auto year = digits_at(text, 0, 4), month = digits_at(text, 5, 2), day = digits_at(text, 8, 2);
  const bool is_written = year >= 0 && month >= 0 && day >= 0 && text[4] == '-' && text[7] == '-';
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!is_written || !date.ok()) refuse_csv_text(text, "is not a date: write it as 2024-02-29");
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::int64_t seconds_of(const std::string& text) {
  const auto hour = digits_at(text, 11, 2), minute = digits_at(text, 14, 2), second = digits_at(text, 17, 2);
  const auto size = text.ends_with('Z') ? text.size() - 1 : text.size();
  const bool is_written = size == 19 && (text[10] == 'T' || text[10] == ' ') && text[13] == ':' && text[16] == ':' &&
                          hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  if (!is_written) refuse_csv_text(text, "is not a time: write it as 2024-02-29T12:30:59");
  return ((days_of(text) * 24 + hour) * 60 + minute) * 60 + second;
}

/// A time as a T.
template <class T>
T csv_time(const std::string& text, const CsvField& field) {
  if (field.contents == CsvContents::dates && text.size() != 10)
    refuse_csv_text(text, "is not a date: write it as 2024-02-29");
  const auto time = field.contents == CsvContents::dates ? days_of(text) : seconds_of(text);
  if constexpr (std::is_integral_v<T>)
    if (time < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
        time > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
      refuse_csv_text(text, "is out of the range of " + std::string(name_of(field.dtype)));
  return static_cast<T>(time);
}

}  // namespace

template <class T>
T csv_value(const std::string& text, const CsvField& field) {
  if (is_missing(text, field)) return static_cast<T>(*field.missing);
  if (!field.categories.empty()) {
    const auto category = std::ranges::find(field.categories, text);
    if (category == field.categories.end()) refuse_csv_text(text, "is not one of the categories");
    return static_cast<T>(category - field.categories.begin());
  }
  if (field.contents != CsvContents::numbers) return csv_time<T>(text, field);
  if constexpr (std::is_integral_v<T>)
    return csv_integer<T>(text, field.dtype);
  else
    return csv_float(text);
}

template float csv_value<float>(const std::string&, const CsvField&);
template std::int32_t csv_value<std::int32_t>(const std::string&, const CsvField&);
template std::int64_t csv_value<std::int64_t>(const std::string&, const CsvField&);
template std::uint8_t csv_value<std::uint8_t>(const std::string&, const CsvField&);

void check_csv_field(const CsvField& field) {
  const auto refuse = [&](const std::string& what) { throw Error("csv", "field '" + field.name + "' " + what); };
  if (field.columns.empty()) refuse("has no columns");
  if (field.categories.size() > (field.dtype == DType::uint8 ? std::size_t{256} : std::size_t{1} << 24))
    refuse("has more categories than its dtype can hold");
  if (is_16_bit(field.dtype)) refuse("cannot be " + std::string(name_of(field.dtype)));
  if (!field.missing_mask.empty() && !field.missing) refuse("has a mask, but no value for an empty text");
  const auto least = field.dtype == DType::uint8 ? 0.0 : field.dtype == DType::int32 ? -0x1p31 : -0x1p63;
  const auto end = field.dtype == DType::uint8 ? 0x1p8 : field.dtype == DType::int32 ? 0x1p31 : 0x1p63;
  if (field.missing && field.dtype != DType::float32 && !(*field.missing >= least && *field.missing < end))
    refuse("has a value for an empty text that its dtype cannot hold");
  if (field.contents != CsvContents::numbers && !field.categories.empty())
    refuse("has categories, and cannot have dates, times or free text");
  if (field.contents == CsvContents::date_times && field.dtype == DType::float32)
    refuse("has times, which float32 does not hold to the second: use int64");
  if (field.contents != CsvContents::text) return;
  if (field.columns.size() > 1 || field.dtype != DType::uint8 || !field.categories.empty() || field.missing)
    refuse("of free text needs one column and the dtype uint8, and has neither categories nor a value for empty texts");
}

}  // namespace troupe
