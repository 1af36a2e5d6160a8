#include "troupe/actors/plan/reachability.hpp"

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

using Edges = std::vector<Succession>;

/// Whether a walk finds a path with exactly `crossings` edges of `across`, and at least one edge.
bool walk(const Edges& edges, const Edges& across, ActorId from, ActorId to, int crossings, bool moved = false) {
  if (moved && from == to && crossings == 0) return true;
  for (const auto& [a, b] : edges)
    if (a == from && walk(edges, across, b, to, crossings, true)) return true;
  for (const auto& [a, b] : across)
    if (crossings > 0 && a == from && walk(edges, across, b, to, crossings - 1, true)) return true;
  return false;
}

}  // namespace

TEST_CASE("an actor reaches what a walk along the edges finds, also with one edge of another kind among them") {
  constexpr int kActors = 7;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Edges edges, across;
    std::vector<ActorId> order;
    const auto draw = [&](std::uint64_t kind, int a, int b) {
      return uniform_below(4, seed, kind, static_cast<std::uint64_t>(a * kActors + b)) == 0;
    };
    for (int a = 0; a < kActors; ++a) {
      order.push_back(a);
      for (int b = 0; b < kActors; ++b) {
        if (a < b && draw(1, a, b)) edges.emplace_back(a, b);
        if (draw(2, a, b)) across.emplace_back(a, b);
      }
    }
    const Reachability within(kActors, order, edges);
    const auto crossing = Reachability::with_one_of(across, within, order, edges);
    for (int a = 0; a < kActors; ++a) {
      for (int b = 0; b < kActors; ++b) {
        CHECK(within.reaches(a, b) == walk(edges, across, a, b, 0));
        CHECK(crossing.reaches(a, b) == walk(edges, across, a, b, 1));
      }
    }
  }
}
