#pragma once

#include <string>
#include <utility>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// How the actors of a plan are grouped into segments.
enum class Grain {
  per_op,  ///< each alone
  chains,  ///< each unbranched run of actors together
  fused,   ///< all actors of a replica on its device together
};

/// `per-op`, `chains` or `fused`.
std::string to_string(Grain grain);
/// The grain of that name. Throws Error that lists the names if there is none.
Grain parse_grain(const std::string& name);

/// Groups the actors of a plan, which may have been grouped another way, into segments. Throws Error if the plan would
/// deadlock.
///
/// - per_op: every actor is a segment with its own executor; only the conductors of a process share one.
/// - chains: an actor joins the segment of the one that it directly comes after within a step, if that is the only one
///   and nobody else comes directly after it. So independent branches of one replica run on several workers. Who comes
///   after whom is taken without what follows from it (the transitive reduction): a value that is read again far behind
///   makes no branch.
/// - fused: the actors of one replica on one place are contracted into segments, and the segments of a place share an
///   executor.
///
/// Actors, edges and messages between segments are the same in every grain. In the first two, edges between segments
/// that are never full at the same time share memory.
Plan in_grain(Plan plan, Grain grain);

inline Plan split(Plan plan) {
  return in_grain(std::move(plan), Grain::per_op);
}
inline Plan chain(Plan plan) {
  return in_grain(std::move(plan), Grain::chains);
}
inline Plan fuse(Plan plan) {
  return in_grain(std::move(plan), Grain::fused);
}

}  // namespace troupe
