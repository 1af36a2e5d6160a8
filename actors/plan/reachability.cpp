#include "troupe/actors/plan/reachability.hpp"

#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::vector<std::vector<ActorId>> successors(std::size_t actors, const std::vector<Succession>& edges, bool to_itself) {
  std::vector<std::vector<ActorId>> next(actors);
  for (const auto& [from, to] : edges)
    if (from != to || to_itself) next[static_cast<std::size_t>(from)].push_back(to);
  return next;
}

}  // namespace

void Reachability::expect_at_most(std::size_t actors) {
  if (actors > kMostActors)
    throw Error("plan", "has " + std::to_string(actors) + " actors, and the grains per-op and chains take at most " +
                            std::to_string(kMostActors) + ": choose the grain fused");
}

Reachability::Reachability(std::size_t actors) : actors_(actors), words_(actors / 64 + 1) {
  expect_at_most(actors);
  bits_.resize(actors * words_, 0);
}

Reachability::Reachability(std::size_t actors, const std::vector<ActorId>& order, const std::vector<Succession>& edges)
    : Reachability(actors) {
  const auto next = successors(actors, edges, false);
  for (auto from = order.rbegin(); from != order.rend(); ++from) {
    for (auto to : next[static_cast<std::size_t>(*from)]) {
      add(*from, to);
      add_all(*from, row(to));
    }
  }
}

Reachability Reachability::with_one_of(const std::vector<Succession>& across, const Reachability& within,
                                       const std::vector<ActorId>& order, const std::vector<Succession>& edges) {
  Reachability table(within.actors_);
  const auto crossing = successors(within.actors_, across, true), next = successors(within.actors_, edges, false);
  for (auto from = order.rbegin(); from != order.rend(); ++from) {
    for (auto to : crossing[static_cast<std::size_t>(*from)]) {
      table.add(*from, to);
      table.add_all(*from, within.row(to));
    }
    for (auto to : next[static_cast<std::size_t>(*from)]) table.add_all(*from, table.row(to));
  }
  return table;
}

void Reachability::add(ActorId from, ActorId to) {
  bits_[static_cast<std::size_t>(from) * words_ + word(to)] |= std::uint64_t{1} << bit(to);
}

void Reachability::add_all(ActorId from, const std::uint64_t* others) {
  auto* row_of_from = &bits_[static_cast<std::size_t>(from) * words_];
  for (std::size_t i = 0; i < words_; ++i) row_of_from[i] |= others[i];
}

}  // namespace troupe
