#pragma once

#include <string>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// The rule that groups the actors of a plan into segments, the units whose actors fire together.
enum class Grain {
  per_op,  ///< every actor is a segment
  chains,  ///< actors that directly follow one another are one segment, branches are separate
  fused,   ///< the actors of a replica on one place are as few segments as their dependencies allow
};

/// Returns `per-op`, `chains` or `fused`.
std::string to_string(Grain grain);
/// Returns the grain with this name. Throws Error that lists the names if there is no such grain.
Grain parse_grain(const std::string& name);

/// Groups the actors of a plan into segments; drops an earlier grouping. Throws Error that names a cycle if the actors
/// have no order because a cycle of dependencies carries no token, or if the grain is `per_op` or `chains` and the plan
/// has more than Reachability::kMostActors actors. CheckedPlan proves the grouped plan live. An executor is an actor
/// that runs segments, on one thread at a time.
///
/// - per_op: every actor is a segment. On the host every segment has its own executor, except that the conductors of a
///   process, which begin its collectives, share one.
/// - chains: actors that directly follow each other are one segment, and branches are segments of their own, so that
///   they run on several threads; a small op joins the chain of an op that it follows. See chains.hpp. On the host,
///   segments that never run at the same time share an executor; see share_executors.hpp.
/// - fused: the actors of one replica on one place are one segment, or several if some of them wait for actors outside
///   the segment, or can_contract() (chains.hpp) is false. The segments of a place share an executor, except external
///   actors and actors with PlanActor::alone.
///
/// Actors and edges are the same in every grain. The capacity of edges may grow: see widen_for_run_ahead(), and an edge
/// with tokens that leads from a segment back to itself gets one slot more than it has tokens. Edges between segments
/// that are never full at the same time share memory (share_memory.hpp), in `fused` on the host alone, and if the
/// plan has at most Reachability::kMostActors actors. Segments on a device only launch work. The segments of a device
/// therefore share an executor in every grain, except conductors, external actors and actors with PlanActor::alone; in
/// `per_op` and `chains`, the segments of one chain also share a stream.
Plan in_grain(Plan plan, Grain grain);

Plan split(Plan plan);
Plan chain(Plan plan);
Plan fuse(Plan plan);

}  // namespace troupe
