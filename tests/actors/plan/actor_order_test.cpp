#include "troupe/actors/plan/actor_order.hpp"

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("actors come in the order of their ranks, after those for which they wait, and none of a cycle comes") {
  // 0 and 1 before 2; 3 and 4 wait for each other, 5 for 4.
  const Followers followers{{2}, {2}, {}, {4}, {3, 5}, {}, {}};
  const auto by_number = [](ActorId actor) { return std::pair(false, actor); };
  CHECK(topological_order(followers, by_number) == std::vector<ActorId>{0, 1, 2, 6});
  const auto last_first = [](ActorId actor) { return std::pair(actor != 6, -actor); };
  CHECK(topological_order(followers, last_first) == std::vector<ActorId>{6, 1, 0, 2});
}

TEST_CASE("two actors are on one cycle if each of them is reached from the other") {
  constexpr std::size_t kActors = 12;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Followers followers(kActors);
    std::vector<std::vector<bool>> reaches(kActors, std::vector<bool>(kActors, false));
    for (std::uint64_t i = 0; i < kActors + seed % 7; ++i) {
      const auto from = uniform_below(kActors, seed, 0, i), to = uniform_below(kActors, seed, 1, i);
      followers[from].push_back(static_cast<ActorId>(to));
      reaches[from][to] = true;
    }
    for (std::size_t middle = 0; middle < kActors; ++middle)
      for (std::size_t from = 0; from < kActors; ++from)
        for (std::size_t to = 0; to < kActors; ++to)
          reaches[from][to] = reaches[from][to] || (reaches[from][middle] && reaches[middle][to]);
    const auto component = components_of(followers);
    for (std::size_t a = 0; a < kActors; ++a)
      for (std::size_t b = 0; b < kActors; ++b)
        CHECK((component[a] == component[b]) == (a == b || (reaches[a][b] && reaches[b][a])));
  }
}
