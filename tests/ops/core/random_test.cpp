#include "troupe/ops/core/random.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

using Words = std::array<std::uint32_t, 4>;

}  // namespace

// The authors of the paper publish these answers with their implementation.
TEST_CASE("Philox gives its known answers", "[random]") {
  CHECK(philox(0, {0, 0, 0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox(~std::uint64_t{0}, {ones, ones, ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers fill [0, 1) evenly", "[random]") {
  constexpr std::size_t kNumbers = 100000;
  std::vector<int> tenths(10);
  double sum = 0.0;
  for (std::uint64_t i = 0; i < kNumbers; ++i) {
    const auto x = uniform(1, 2, i);
    REQUIRE((x >= 0.0F && x < 1.0F));
    sum += static_cast<double>(x);
    ++tenths[static_cast<std::size_t>(x * 10.0F)];
  }
  // The margins are five standard deviations.
  CHECK(sum / kNumbers == Approx(0.5).margin(5 * 0.2887 / 316.2));
  for (auto count : tenths) CHECK(count == Approx(10000).margin(5 * 95));
}

TEST_CASE("seed, stream and number each change the result", "[random]") {
  std::set<float> seen;
  for (std::uint64_t seed : {0, 1})
    for (std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
      for (std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{1} << 34})
        seen.insert(uniform(seed, stream, i));
  CHECK(seen.size() == 24);
  CHECK(uniform(3, 4, 5) == uniform(3, 4, 5));
}

TEST_CASE("numbers below a bound reach all of them evenly", "[random]") {
  std::vector<int> counts(7);
  for (std::uint64_t i = 0; i < 70000; ++i) ++counts.at(uniform_below(7, 5, 6, i));
  for (auto count : counts) CHECK(count == Approx(10000).margin(5 * 93));
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(uniform_below(1, 5, 6, i) == 0);
}

TEST_CASE("numbers below a bound of more than 32 bits use more than 32 bits", "[random]") {
  const std::uint64_t bound = std::uint64_t{1} << 60;
  std::uint64_t low = 0, high = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const auto x = uniform_below(bound, 1, 1, i);
    REQUIRE(x < bound);
    low |= x & 0xFFFF;
    high |= x >> 44;
  }
  CHECK(low == 0xFFFF);
  CHECK(high == 0xFFFF);
}

}  // namespace troupe::ops_test
