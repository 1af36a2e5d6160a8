#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// A partition of the actors of a plan into groups that may become segments, and a topological order in which the
/// actors fire.
struct Grouping {
  std::vector<std::int32_t> group;  // by actor: the number of its group
  std::vector<ActorId> order;
};

/// True if the actor may share a segment with other actors. An actor that works in place of an input, a collective, a
/// conductor, an external actor, and an actor marked `alone` are each a segment of their own.
bool can_contract(const PlanActor& actor);

/// Makes every actor a group of its own.
Grouping every_actor_alone(const Plan& plan, const Dependencies& dependencies);

/// Covers each replica by chains of ops in which each op directly follows the op before, so that ops that could run at
/// the same time lie in different chains. At a fork one branch continues the chain and the others begin chains of their
/// own. An op joins a chain only if every actor that it waits for is in the chain or has fired before the chain's first
/// op. Direct succession is the transitive reduction of the dependencies: a second, later reader of a value makes no
/// fork.
///
/// A small op is one that takes no longer to run than to hand to another worker. It joins the chain of an op that it
/// follows, even beside an op of this chain that could run at the same time. In plans with more than
/// Reachability::kMostActors actors each actor stays alone.
Grouping chains(const Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
