#include "troupe/actors/plan/actor_order.hpp"

#include <queue>

namespace troupe {

namespace {

/// Searches `followers` depth first from `start`. Adds each actor that `seen` lacks to `seen`, and appends it to
/// `finished` after the actors that follow it.
void visit(const Followers& followers, ActorId start, std::vector<bool>& seen, std::vector<ActorId>& finished) {
  if (seen[start]) return;
  seen[start] = true;
  std::vector<std::pair<ActorId, std::size_t>> path{{start, 0}};  // an actor, and the next of its followers
  while (!path.empty()) {
    auto& [actor, next] = path.back();
    if (next == followers[actor].size()) {
      finished.push_back(actor);
      path.pop_back();
    } else if (const auto follower = followers[actor][next++]; !seen[follower]) {
      seen[follower] = true;
      path.emplace_back(follower, 0);
    }
  }
}

}  // namespace

Followers joined(Followers a, const Followers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i].insert(a[i].end(), b[i].begin(), b[i].end());
  return a;
}

std::vector<ActorId> topological_order(const Followers& followers, const ActorRank& rank) {
  std::vector<int> waits(followers.size(), 0);
  for (const auto& of_actor : followers)
    for (auto actor : of_actor) ++waits[actor];
  using Ready = std::pair<std::pair<bool, int>, ActorId>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (const auto actor = static_cast<ActorId>(i); waits[i] == 0) ready.emplace(rank(actor), actor);
  std::vector<ActorId> order;
  while (!ready.empty()) {
    const auto actor = ready.top().second;
    ready.pop();
    order.push_back(actor);
    for (auto next : followers[actor])
      if (--waits[next] == 0) ready.emplace(rank(next), next);
  }
  return order;
}

std::vector<std::size_t> components_of(const Followers& followers) {
  Followers predecessors(followers.size());
  std::vector<ActorId> finished, members;
  std::vector<bool> seen(followers.size(), false);
  for (std::size_t i = 0; i < followers.size(); ++i) {
    visit(followers, static_cast<ActorId>(i), seen, finished);
    for (const auto follower : followers[i]) predecessors[follower].push_back(static_cast<ActorId>(i));
  }
  std::vector<std::size_t> component(followers.size());
  seen.assign(followers.size(), false);
  for (auto actor = finished.rbegin(); actor != finished.rend(); ++actor) {
    members.clear();
    visit(predecessors, *actor, seen, members);
    for (const auto member : members) component[member] = static_cast<std::size_t>(*actor);
  }
  return component;
}

}  // namespace troupe
