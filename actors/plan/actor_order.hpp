#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// By actor: the actors that wait for it.
using Followers = std::vector<std::vector<ActorId>>;

/// Returns, by actor, the actors that wait for it in `a` or in `b`.
Followers joined(Followers a, const Followers& b);

/// The rank of an actor among those that may come next in an order.
using ActorRank = std::function<std::pair<bool, int>(ActorId)>;

/// Returns a topological order of the actors, without those that are on a cycle or follow one. Among the actors whose
/// predecessors have all come, the one with the smallest rank comes next.
std::vector<ActorId> topological_order(const Followers& followers, const ActorRank& rank);

/// Returns by actor the number of its strongly connected component: two actors have one number if each of them waits
/// for the other, directly or through others (algorithm of Kosaraju and Sharir).
std::vector<std::size_t> components_of(const Followers& followers);

}  // namespace troupe
