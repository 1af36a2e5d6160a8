#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Groups of actors that are to be contracted, and a topological order in which the actors of a group fire.
struct Grouping {
  std::vector<std::int32_t> group;  // by actor
  std::vector<ActorId> order;
};

/// True if the actor may share a segment with others. An actor that works in place of an input, a collective, its
/// conductor, an external actor, and an actor marked `alone` are segments by themselves.
bool can_contract(const PlanActor& actor);

/// Every actor is a group.
Grouping every_actor_alone(const Plan& plan, const Dependencies& dependencies);

/// Covers each replica by chains of ops in which each op directly follows the op before, so that ops that could run at
/// the same time lie in different chains. At a fork one branch continues the chain and the others begin chains of their
/// own. An op joins a chain only if it then waits for nothing but the actors that the chain waits for anyway. Direct
/// succession is the transitive reduction of the dependencies: a second, later reader of a value makes no fork.
///
/// An op that is so small that handing it to another worker costs as much as running it belongs to the chain that it
/// follows, beside the others. In plans with more than Reachability::kMostActors actors each actor stays alone.
Grouping chains(const Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
