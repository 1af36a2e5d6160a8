#include "troupe/actors/collective/launch_order.hpp"

#include <algorithm>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

using Order = std::vector<std::size_t>;

}  // namespace

TEST_CASE("launches on the longest way to the end come first") {
  CHECK(longest_way_first({}).empty());
  CHECK(longest_way_first(std::vector<DependentLaunch>{{{}, 1}, {{}, 1}, {{}, 2}}) == Order{2, 0, 1});
  // After the first one a metric, and behind it a gradient and two products.
  const std::vector<DependentLaunch> step{{{}, 1}, {{0}, 1}, {{1}, 1}, {{0}, 1}, {{3}, 5}, {{3}, 2}, {{4, 5, 2}, 1}};
  CHECK(longest_way_first(step) == Order{0, 3, 4, 1, 5, 2, 6});
}

TEST_CASE("every launch comes once, after those that it waits for") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<DependentLaunch> launches(40);
    for (std::size_t i = 1; i < launches.size(); ++i) {
      launches[i].cost = static_cast<double>(uniform_below(5, seed, 1, i));
      for (std::uint64_t k = 0; k < uniform_below(4, seed, 2, i); ++k)
        launches[i].waits_for.push_back(uniform_below(i, seed, 3 + k, i));
    }
    INFO("seed " << seed);
    const auto order = longest_way_first(launches);
    Order place(launches.size(), launches.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    REQUIRE(order.size() == launches.size());
    CHECK(std::ranges::count(place, launches.size()) == 0);
    for (std::size_t i = 0; i < launches.size(); ++i)
      for (const auto before : launches[i].waits_for) CHECK(place[before] < place[i]);
  }
}
