#pragma once

#include <string>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// The rule that groups the actors of a plan into segments.
enum class Grain {
  per_op,  ///< every actor is a segment
  chains,  ///< an actor together with its direct successor, branches apart
  fused,   ///< all actors of a replica on one place together
};

/// Returns `per-op`, `chains` or `fused`.
std::string to_string(Grain grain);
/// Returns the grain with this name. Throws Error that lists the names if there is no such grain.
Grain parse_grain(const std::string& name);

/// Groups the actors of a plan into segments, in place of an earlier grouping. Throws Error if the actors have no order
/// because a cycle of them carries no token. CheckedPlan proves the grouped plan live.
///
/// - per_op: every actor is a segment, on the host with its own executor; only the conductors of a process share an
///   executor.
/// - chains: actors that directly follow each other are one segment, and branches are segments of their own, so that
///   they run on several workers; an op too small for a worker of its own joins the chain of an op that it follows. See
///   chains.hpp.
/// - fused: the actors of one replica on one place are contracted into segments, and the segments of a place share an
///   executor.
///
/// Actors and edges are the same in every grain; edges with tokens inside a segment may get another slot. In `per_op`
/// and `chains`, edges between segments that are never full at the same time share memory. Segments on a device only
/// launch work. All segments of a device therefore share an executor in every grain; in `per_op` and `chains`, those of
/// one chain also share a stream.
Plan in_grain(Plan plan, Grain grain);

Plan split(Plan plan);
Plan chain(Plan plan);
Plan fuse(Plan plan);

}  // namespace troupe
