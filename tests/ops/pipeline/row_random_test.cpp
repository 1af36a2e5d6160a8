#include "troupe/ops/pipeline/row_random.hpp"

#include <vector>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

TEST_CASE("the numbers of a row use each random word once", "[pipeline]") {
  const RowEpoch epoch{11, 3};
  RowRandom random(epoch, 2, 77);
  std::vector<std::uint32_t> words;
  for (std::uint32_t block = 0; block < 3; ++block)
    for (const auto word : philox(RowRandom::seed_of(epoch, 2), {block, 0, 77, 0})) words.push_back(word);
  const auto uniform = [&](std::size_t word) { return static_cast<float>(words[word] >> 8) * 0x1.0p-24F; };
  CHECK(random.uniform() == uniform(0));
  CHECK(random.below(std::int64_t{1} << 62) ==
        static_cast<std::int64_t>((std::uint64_t{words[1]} << 32 | words[2]) >> 2));
  CHECK(random.chance(0.5F) == (uniform(3) < 0.5F));
  CHECK(random.uniform(-2.0F, 2.0F) == -2.0F + 4.0F * uniform(4));
  CHECK(random.below(1) == 0);
  CHECK(random.uniform() == uniform(7));
}

TEST_CASE("the normal numbers of rows have mean 0 and variance 1", "[pipeline]") {
  constexpr int kRows = 20'000;
  double sum = 0.0, squares = 0.0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const double number = RowRandom({1, 0}, 0, row).normal();
    sum += number;
    squares += number * number;
  }
  // Five standard deviations of the sums.
  CHECK(std::abs(sum) <= 5.0 * std::sqrt(kRows));
  CHECK(std::abs(squares - kRows) <= 5.0 * std::sqrt(2.0 * kRows));
}

TEST_CASE("epochs, transforms and inputs have other random numbers", "[pipeline]") {
  const RowEpoch epoch{5, 6};
  const auto first = [](const RowEpoch& of, std::int64_t transform) { return RowRandom::seed_of(of, transform); };
  CHECK(first(epoch, 1) != first(epoch, 2));
  CHECK(first(epoch, 1) != first({5, 7}, 1));
  CHECK(first(epoch, 1) != first(epoch.of_input(0), 1));
  CHECK(first(epoch.of_input(0), 1) != first(epoch.of_input(1), 1));
}

}  // namespace troupe::ops_test
