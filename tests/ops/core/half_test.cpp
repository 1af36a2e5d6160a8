#include "troupe/ops/core/half.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

template <class T>
T of_bits(std::uint16_t bits) {
  return std::bit_cast<T>(bits);
}

template <class T>
std::uint16_t bits_of(T number) {
  return std::bit_cast<std::uint16_t>(number);
}

/// The number with a sign, an exponent and a fraction in `bits`.
double value_of(std::uint16_t bits, int fraction_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const int largest_exponent = 0x7fff >> fraction_bits;
  const double fraction = std::ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  double value = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias);
  if (exponent == largest_exponent) value = fraction == 0.0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

/// Checks that all bit patterns have their value in float32, and are converted back.
template <class T>
void check_all(int fraction_bits, int bias) {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto wide = static_cast<float>(of_bits<T>(bits));
    const auto value = value_of(bits, fraction_bits, bias);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(wide));
      REQUIRE(std::isnan(static_cast<float>(T(wide))));
    } else {
      REQUIRE(static_cast<double>(wide) == value);
      REQUIRE(bits_of(T(wide)) == bits);
    }
  }
}

/// Checks rounding between all pairs of neighbors: to the nearest, and from the middle to the one whose last bit is 0.
template <class T>
void check_rounding(int fraction_bits, int bias, int largest) {
  for (int i = 0; i < largest; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    const auto below = value_of(low, fraction_bits, bias), above = value_of(high, fraction_bits, bias);
    const auto middle = static_cast<float>((below + above) / 2);
    REQUIRE(bits_of(T(middle)) == (i % 2 == 0 ? low : high));
    REQUIRE(bits_of(T(std::nextafter(middle, 0.0F))) == low);
    REQUIRE(bits_of(T(std::nextafter(middle, std::numeric_limits<float>::infinity()))) == high);
    REQUIRE(bits_of(T(-middle)) == ((i % 2 == 0 ? low : high) | 0x8000));
  }
}

}  // namespace

TEST_CASE("every 16-bit float has its value, and comes back from float32") {
  check_all<Float16>(10, 15);
  check_all<BFloat16>(7, 127);
}

TEST_CASE("float32 is rounded to the nearest 16-bit float, ties to even") {
  check_rounding<Float16>(10, 15, 0x7bff);
  check_rounding<BFloat16>(7, 127, 0x7f7f);
}

TEST_CASE("numbers beyond the range of a 16-bit float become infinite") {
  constexpr auto kInfinity = std::numeric_limits<float>::infinity();
  CHECK(static_cast<float>(Float16(65'519.0F)) == 65'504.0F);
  CHECK(static_cast<float>(Float16(65'520.0F)) == kInfinity);
  CHECK(static_cast<float>(Float16(-1e10F)) == -kInfinity);
  CHECK(static_cast<float>(Float16(kInfinity)) == kInfinity);
  CHECK(static_cast<float>(BFloat16(std::numeric_limits<float>::max())) == kInfinity);
}

TEST_CASE("sums are rounded after every addition") {
  Float16 sum(2048.0F);
  for (int i = 0; i < 3; ++i) sum += Float16(1.0F);
  CHECK(static_cast<float>(sum) == 2048.0F);
  BFloat16 brain(1.0F);
  brain += BFloat16(0.5F);
  CHECK(static_cast<float>(brain) == 1.5F);
}
