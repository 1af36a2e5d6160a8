#include "troupe/actors/collective/launch_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

std::array<std::byte, 64> memory;

MemoryRange bytes(std::size_t begin, std::size_t end) {
  return {memory.data() + begin, memory.data() + end};
}

std::vector<std::size_t> add(LaunchDependencies& launches, std::vector<MemoryRange> reads,
                             std::vector<MemoryRange> writes) {
  const auto waits_for = launches.add(std::move(reads), std::move(writes));
  return {waits_for.begin(), waits_for.end()};
}

using LaunchNumbers = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a launch waits for who writes what it reads or writes, and for who reads what it writes") {
  LaunchDependencies launches;
  CHECK(add(launches, {}, {bytes(0, 8)}) == LaunchNumbers{});
  CHECK(add(launches, {bytes(0, 4)}, {bytes(8, 16)}) == LaunchNumbers{0});
  CHECK(add(launches, {bytes(4, 8)}, {bytes(16, 24)}) == LaunchNumbers{0});
  CHECK(add(launches, {bytes(24, 32)}, {bytes(32, 40)}) == LaunchNumbers{});
  CHECK(add(launches, {}, {bytes(7, 9)}) == LaunchNumbers{2, 1});
  CHECK(add(launches, {}, {bytes(15, 17)}) == LaunchNumbers{2, 1});
  CHECK(add(launches, {bytes(8, 9), bytes(32, 33)}, {}) == LaunchNumbers{4, 3});
}

TEST_CASE("launches on adjacent or empty memory do not wait for each other") {
  LaunchDependencies launches;
  CHECK(add(launches, {}, {bytes(8, 16)}) == LaunchNumbers{});
  CHECK(add(launches, {bytes(16, 24)}, {bytes(0, 8)}) == LaunchNumbers{});
  CHECK(add(launches, {bytes(12, 12)}, {MemoryRange{}}) == LaunchNumbers{});
}

TEST_CASE("who has to be done anyway is not waited for") {
  LaunchDependencies launches;
  CHECK(add(launches, {}, {bytes(0, 8)}) == LaunchNumbers{});
  CHECK(add(launches, {bytes(0, 8)}, {bytes(8, 16)}) == LaunchNumbers{0});
  CHECK(add(launches, {bytes(0, 8), bytes(8, 16)}, {bytes(16, 24)}) == LaunchNumbers{1});
  CHECK(add(launches, {bytes(0, 8)}, {bytes(0, 8)}) == LaunchNumbers{2});
}

namespace {

/// A launch that adds what it reads to what it writes, by byte.
struct Mixing {
  std::size_t from, from_end, to, to_end;

  void run(std::array<std::uint64_t, 16>& numbers) const {
    auto sum = std::accumulate(numbers.begin() + from, numbers.begin() + from_end, std::uint64_t{1});
    for (auto i = to; i < to_end; ++i) numbers[i] = numbers[i] * 31 + sum++;
  }
};

Mixing drawn(std::uint64_t seed, std::uint64_t i) {
  const auto below = [&](std::uint64_t bound, std::uint64_t what) { return uniform_below(bound, seed, what, i); };
  const auto from = below(16, 0), to = below(16, 1);
  return {from, std::min<std::size_t>(16, from + below(4, 2)), to, std::min<std::size_t>(16, to + 1 + below(3, 3))};
}

/// Runs all launches, each time one whose dependencies have run.
std::array<std::uint64_t, 16> run_in_any_order(const std::vector<Mixing>& all,
                                               const std::vector<LaunchNumbers>& waits_for, std::uint64_t seed) {
  std::array<std::uint64_t, 16> numbers{};
  std::vector<bool> is_done(all.size());
  for (std::size_t done = 0; done < all.size(); ++done) {
    LaunchNumbers ready;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!is_done[i] && std::ranges::all_of(waits_for[i], [&](auto j) { return is_done[j]; })) ready.push_back(i);
    const auto next = ready[uniform_below(ready.size(), seed, 4, done)];
    all[next].run(numbers);
    is_done[next] = true;
  }
  return numbers;
}

}  // namespace

TEST_CASE("every order that the dependencies allow gives the result of launches run one after the other") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    LaunchDependencies launches;
    std::vector<Mixing> all;
    std::vector<LaunchNumbers> waits_for;
    std::array<std::uint64_t, 16> expected{};
    for (std::uint64_t i = 0; i < 30; ++i) {
      all.push_back(drawn(seed, i));
      const auto& [from, from_end, to, to_end] = all.back();
      waits_for.push_back(add(launches, {bytes(from, from_end), bytes(to, to_end)}, {bytes(to, to_end)}));
      all.back().run(expected);
    }
    INFO("seed " << seed);
    for (std::uint64_t order = 0; order < 5; ++order)
      CHECK(run_in_any_order(all, waits_for, 5 * seed + order) == expected);
  }
}

TEST_CASE("launches on the longest way to the end come first") {
  CHECK(longest_way_first({}).empty());
  CHECK(longest_way_first(std::vector<DependentLaunch>{{{}, 1}, {{}, 1}, {{}, 2}}) == LaunchNumbers{2, 0, 1});
  // After the first one a metric, and behind it a gradient and two products.
  const std::vector<DependentLaunch> step{{{}, 1}, {{0}, 1}, {{1}, 1}, {{0}, 1}, {{3}, 5}, {{3}, 2}, {{4, 5, 2}, 1}};
  CHECK(longest_way_first(step) == LaunchNumbers{0, 3, 4, 1, 5, 2, 6});
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
    LaunchNumbers place(launches.size(), launches.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    REQUIRE(order.size() == launches.size());
    CHECK(std::ranges::count(place, launches.size()) == 0);
    for (std::size_t i = 0; i < launches.size(); ++i)
      for (const auto before : launches[i].waits_for) CHECK(place[before] < place[i]);
  }
}
