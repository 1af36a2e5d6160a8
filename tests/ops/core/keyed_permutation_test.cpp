#include "troupe/ops/core/keyed_permutation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

std::vector<std::uint64_t> numbers_of(const KeyedPermutation& permutation) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < permutation.size(); ++i) numbers.push_back(permutation(i));
  return numbers;
}

bool has_each_once(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  for (std::uint64_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != i) return false;
  return true;
}

/// The chi-square statistic of positions against numbers, both in `buckets` equal ranges, in standard deviations from
/// its mean.
double deviation_of_buckets(const std::vector<std::uint64_t>& numbers, std::uint64_t buckets) {
  const auto size = numbers.size();
  std::vector<double> counts(buckets * buckets);
  for (std::uint64_t i = 0; i < size; ++i) counts[i * buckets / size * buckets + numbers[i] * buckets / size] += 1.0;
  const auto expected = static_cast<double>(size) / static_cast<double>(buckets * buckets);
  double sum = 0.0;
  for (const auto count : counts) sum += (count - expected) * (count - expected) / expected;
  const auto degrees = static_cast<double>((buckets - 1) * (buckets - 1));
  return (sum - degrees) / std::sqrt(2.0 * degrees);
}

}  // namespace

TEST_CASE("a keyed permutation of any size has each number once", "[keyed_permutation]") {
  for (std::uint64_t size = 1; size <= 600; ++size) CHECK(has_each_once(numbers_of({size, 7, size})));
  for (const std::uint64_t size : {4'095, 4'096, 4'097, 100'000, 1 << 18})
    for (std::uint64_t seed = 0; seed < 3; ++seed) CHECK(has_each_once(numbers_of({size, seed, 0})));
}

TEST_CASE("seed and stream choose the permutation", "[keyed_permutation]") {
  const auto numbers = numbers_of({1'000, 1, 2});
  CHECK(numbers == numbers_of({1'000, 1, 2}));
  CHECK(numbers != numbers_of({1'000, 2, 2}));
  CHECK(numbers != numbers_of({1'000, 1, 3}));
  CHECK(numbers != numbers_of({1'000, 1, std::uint64_t{2} << 32}));
}

TEST_CASE("a keyed permutation of a few numbers can be any of them, equally often", "[keyed_permutation]") {
  constexpr int kDraws = 24'000;
  std::map<std::vector<std::uint64_t>, int> counts;
  for (std::uint64_t stream = 0; stream < kDraws; ++stream) ++counts[numbers_of({4, 5, stream})];
  CHECK(counts.size() == 24);
  double sum = 0.0;
  for (const auto& [numbers, count] : counts) sum += (count - 1'000.0) * (count - 1'000.0) / 1'000.0;
  CHECK(sum < 52.6);  // chi-square with 23 degrees of freedom: exceeded with probability 4e-4
}

TEST_CASE("positions tell nothing about numbers", "[keyed_permutation]") {
  double sum = 0.0;
  constexpr int kPermutations = 20;
  for (std::uint64_t stream = 0; stream < kPermutations; ++stream) {
    const auto deviation = deviation_of_buckets(numbers_of({100'000, 11, stream}), 50);
    CHECK(std::abs(deviation) < 4.5);
    sum += deviation;
  }
  CHECK(std::abs(sum) / std::sqrt(kPermutations) < 3.5);
}

TEST_CASE("keyed permutations stay as they are, because trainings resume in their order", "[keyed_permutation]") {
  const auto first_of = [](std::uint64_t size) {
    const KeyedPermutation permutation(size, 7, 3);
    return std::vector<std::uint64_t>{permutation(0), permutation(1), permutation(2), permutation(3)};
  };
  CHECK(first_of(10) == std::vector<std::uint64_t>{7, 1, 5, 2});
  CHECK(first_of(60'000) == std::vector<std::uint64_t>{44822, 22895, 21944, 50514});
  CHECK(first_of(std::uint64_t{1} << 40) ==
        std::vector<std::uint64_t>{717239422980, 746331166208, 800156131114, 275184208278});
}

TEST_CASE("large keyed permutations have no number twice", "[keyed_permutation]") {
  for (const int bits : {33, 40, 62, 63}) {
    const KeyedPermutation permutation((std::uint64_t{1} << bits) - 12'345, 1, 0);
    std::set<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < 100'000; ++i) numbers.insert(permutation(i << (bits - 20)));
    CHECK(numbers.size() == 100'000);
  }
}

TEST_CASE("sizes that no keyed permutation has are refused", "[keyed_permutation]") {
  CHECK_THROWS_WITH(KeyedPermutation(0, 1, 1), Contains("0 is not a size from 1 to 2^63"));
  CHECK_THROWS_WITH(KeyedPermutation((std::uint64_t{1} << 63) + 1, 1, 1), Contains("is not a size"));
}

TEST_CASE("the largest size is permuted", "[keyed_permutation]") {
  const KeyedPermutation permutation(std::uint64_t{1} << 63, 1, 0);
  std::set<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 1'000; ++i) numbers.insert(permutation(permutation.size() - 1 - i));
  CHECK(numbers.size() == 1'000);
  CHECK(*numbers.rbegin() < permutation.size());
  CHECK(*numbers.begin() < permutation.size() / 10);
}

}  // namespace troupe::ops_test
