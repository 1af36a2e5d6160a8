#include "troupe/ops/data/csv_number.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

/// The integer in a text, or what is wrong with the text.
template <class T>
std::string integer_text(const std::string& text) {
  const auto number = parse_csv_decimal(text);
  if (!number) return "no decimal";
  if (!number->is_integer()) return "fraction";
  const auto integer = to_integer<T>(*number);
  return integer ? std::to_string(*integer) : "out of range";
}

struct TextAndResult {
  std::string text;
  std::string result;
};

template <class T>
void check_integers(const std::vector<TextAndResult>& table) {
  for (const auto& [text, result] : table) {
    CAPTURE(text);
    CHECK(integer_text<T>(text) == result);
  }
}

}  // namespace

TEST_CASE("an integer of 64 bits is read from its digits", "[csv]") {
  check_integers<std::int64_t>({{"+9007199254740993", "9007199254740993"},
                                {"9007199254740993.0", "9007199254740993"},
                                {"9.007199254740993e15", "9007199254740993"},
                                {"90071992547409930e-1", "9007199254740993"},
                                {"9223372036854775807", "9223372036854775807"},
                                {"+9223372036854775807", "9223372036854775807"},
                                {"9223372036854775808", "out of range"},
                                {"-9223372036854775808", "-9223372036854775808"},
                                {"-9223372036854775808.000", "-9223372036854775808"},
                                {"-9223372036854775809", "out of range"},
                                {"18446744073709551615", "out of range"},
                                {"18446744073709551616", "out of range"},
                                {"4503599627370497.5", "fraction"},
                                {"9007199254740993.5", "fraction"}});
}

TEST_CASE("a decimal point and an exponent may write an integer", "[csv]") {
  check_integers<std::int32_t>({{"1e3", "1000"},
                                {"1E+3", "1000"},
                                {"1.50e1", "15"},
                                {"12.000", "12"},
                                {"12.", "12"},
                                {".5e1", "5"},
                                {"0012", "12"},
                                {"100e-2", "1"},
                                {"-2.147483648e9", "-2147483648"},
                                {"2147483648", "out of range"},
                                {"1e-400", "fraction"},
                                {"100e-3", "fraction"},
                                {"-.5", "fraction"},
                                {"1.0000000000000000001", "fraction"}});
}

TEST_CASE("a zero is an integer with every sign and exponent", "[csv]") {
  for (const auto* text : {"0", "-0", "+0.0", "000", "0e99999", "-0.00e-999999999999"}) {
    CAPTURE(text);
    CHECK(integer_text<std::int64_t>(text) == "0");
    CHECK(integer_text<std::uint8_t>(text) == "0");
  }
}

TEST_CASE("an integer of 8 bits has no sign", "[csv]") {
  check_integers<std::uint8_t>({{"255.0", "255"}, {"256", "out of range"}, {"-1", "out of range"}});
}

TEST_CASE("a huge exponent is neither added up nor walked through", "[csv]") {
  check_integers<std::int64_t>({{"1e999999999999", "out of range"},
                                {"-1e999999999999999999999999999999", "out of range"},
                                {"1e-999999999999999999999999999999", "fraction"},
                                {"0." + std::string(100000, '0') + "7e100001", "7"},
                                {"7" + std::string(100000, '0') + "e-100000", "7"}});
}

TEST_CASE("a text that is no decimal has no integer", "[csv]") {
  for (const auto* text : {"",     "+",     "-",     "+-5", "--1", "++1", ".",    "-.",  "e5",  ".e5", "1e",   "1e+",
                           "1e5.", "1e+-5", "1.2.3", "1x",  " 1",  "1 ",  "0x10", "inf", "nan", "1,5", "1e5e5"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_csv_decimal(text));
    if (text != std::string_view("inf")) CHECK_FALSE(parse_csv_float(text));
  }
}

TEST_CASE("a float is the nearest one to the decimal", "[csv]") {
  constexpr auto kLargest = std::numeric_limits<float>::max();
  constexpr auto kInfinity = std::numeric_limits<float>::infinity();
  // The first number is above the middle of two floats, and 3.4028235677973366e38 below one. The nearest double of each
  // is the middle.
  for (const auto& [text, result] : {std::pair{"1.0000000596046447754", std::nextafter(1.0F, 2.0F)},
                                     {"1.000000059604644775390625", 1.0F},
                                     {"+2.5e-1", 0.25F},
                                     {"5.", 5.0F},
                                     {"3.4028235e38", kLargest},
                                     {"3.4028235677973366e38", kLargest},
                                     {"3.4028235677973367e38", kInfinity},
                                     {"-1e999999999999", -kInfinity},
                                     {"inf", kInfinity},
                                     {"1e-45", std::numeric_limits<float>::denorm_min()},
                                     {"1e-400", 0.0F}}) {
    CAPTURE(text);
    CHECK(parse_csv_float(text) == result);
  }
}

}  // namespace troupe::ops_test
