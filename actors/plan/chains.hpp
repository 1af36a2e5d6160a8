#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// A partition of the actors of a plan into groups, and a topological order of the actors by their dependencies within
/// a step. in_grain() makes one or more segments, the units whose actors fire together, of each group.
struct Grouping {
  std::vector<std::int32_t> group;  // by actor: the number of its group
  std::vector<ActorId> order;
};

/// True if the actor may share a segment, a unit of actors that fire together, with other actors. False for an actor
/// that overwrites an input in place (PlanOutput::alias_of), a collective, a conductor (the actor that begins a
/// collective for the ranks of a process), an external actor (ActorRole::external) and an actor with PlanActor::alone.
bool can_contract(const PlanActor& actor);

/// True if the actor is a small op: one that takes no longer to run than to hand to another thread.
bool is_small(const Plan& plan, const PlanActor& actor);

/// Makes every actor a group of its own, in Dependencies::grouping_order().
Grouping every_actor_alone(const Plan& plan, const Dependencies& dependencies);

/// Groups the ops of each replica on one place into chains, in which each op directly follows the op before, so that
/// ops that could run at the same time lie in different chains. Op b directly follows op a if b depends on a and no
/// other path of dependencies leads from a to b: if a second reader of a value also depends on the first reader, the
/// value makes no fork. At a fork one branch continues the chain, and the others begin chains of their own; of ops for
/// which no op waits within a step, the largest continues it. An op joins a chain only if every op that it directly
/// follows is in the chain or has fired before the chain's first op.
///
/// A small op (is_small()) joins the chain of an op that it follows, even if another op of this chain could run at the
/// same time. Actors for which can_contract() is false are groups of their own. Throws Error if the plan has more than
/// Reachability::kMostActors actors.
Grouping chains(const Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
