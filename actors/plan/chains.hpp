#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Actors that shall be contracted, by group, and a topological order in which those of a group come to fire.
struct Grouping {
  std::vector<std::int32_t> group;  // by actor
  std::vector<ActorId> order;
};

/// False for what stays a segment by itself: actors in place of an input, collectives and their conductors, external
/// actors, and what asks for it.
bool can_contract(const PlanActor& actor);

/// Covers each replica by chains of ops of which each directly follows the one before, so that what could run at the
/// same time lies in different chains. At a fork one branch goes on in the chain and the others begin their own. An op
/// joins only if it then waits for nothing that its chain does not wait for anyway. Who directly follows whom is taken
/// without what follows from it (the transitive reduction): that a value is read once more far behind makes no fork.
///
/// Ops so small that handing them to another worker costs as much as they do belong to the chain that they follow,
/// beside the others. In plans with more than Reachability::kMostActors actors each stays alone.
Grouping chains(const Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
