#include "troupe/ops/data/sample_order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

std::vector<std::int32_t> numbers_below(std::int64_t count) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::int32_t> in_ascending_order(std::vector<std::int32_t> samples) {
  std::ranges::sort(samples);
  return samples;
}

std::vector<SampleOrder> orders_of(std::int64_t size) {
  return {SampleOrder::in_order(size), SampleOrder::in_streams(size, 4), SampleOrder::shuffled(size, 3, 5),
          SampleOrder::drawn(size, 10, 3, 5)};
}

}  // namespace

TEST_CASE("every order has each sample once", "[sample_order]") {
  for (const std::int64_t size : {0, 4, 100, 1'000, 65'536})
    for (const auto& order : orders_of(size)) CHECK(in_ascending_order(order.all()) == numbers_below(size));
}

TEST_CASE("a part of an order is read from any position", "[sample_order]") {
  for (const auto& order : orders_of(400)) {
    const auto all = order.all();
    REQUIRE(order.size() == 400);
    std::vector<std::int32_t> part(50);
    for (const std::int64_t first : {0, 1, 170, 350}) {
      order.copy(first, part);
      CHECK(std::equal(part.begin(), part.end(), all.begin() + first));
    }
    for (const std::int64_t position : {0, 13, 399})
      CHECK(order.at(position) == all[static_cast<std::size_t>(position)]);
  }
}

TEST_CASE("positions that an order does not have are refused", "[sample_order]") {
  for (const auto& order : orders_of(40)) {
    std::vector<std::int32_t> part(10);
    for (const std::int64_t first : {std::int64_t{31}, std::int64_t{-1}, std::int64_t{100}})
      CHECK_THROWS_WITH(order.copy(first, part), Contains("there are no samples at the positions"));
    CHECK_THROWS_WITH(order.at(40), Contains("positions 40 to 40 of 40"));
    order.copy(41, {});
  }
}

TEST_CASE("an order of the most samples that a data set may have takes no memory for them", "[sample_order]") {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto order = SampleOrder::shuffled(most, 3, 5);
  std::vector<std::int32_t> last(1'000);
  order.copy(most - 1'000, last);
  for (const auto sample : last) CHECK(sample >= 0);
  last = in_ascending_order(last);
  CHECK(std::ranges::adjacent_find(last) == last.end());
  CHECK(last.front() < most / 10);
  CHECK(last.back() > most / 10 * 9);
}

TEST_CASE("a sample is drawn only from the buffer", "[sample_order]") {
  constexpr std::int32_t kBuffer = 8;
  std::int32_t furthest = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto order = SampleOrder::drawn(200, kBuffer, seed, 0).all();
    for (std::int32_t position = 0; position < 200; ++position) {
      const auto ahead = order[static_cast<std::size_t>(position)] - position;
      CHECK(ahead <= kBuffer - 1);
      furthest = std::max(furthest, ahead);
    }
  }
  CHECK(furthest == kBuffer - 1);
}

TEST_CASE("a buffer of all samples can put any of them first", "[sample_order]") {
  std::vector<bool> seen(10);
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    seen[static_cast<std::size_t>(SampleOrder::drawn(10, 10, seed, 0).at(0))] = true;
  CHECK(std::ranges::all_of(seen, [](bool s) { return s; }));
}

TEST_CASE("streams are read side by side", "[sample_order]") {
  CHECK(SampleOrder::in_streams(9, 3).all() == std::vector<std::int32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8});
}

}  // namespace troupe::ops_test
