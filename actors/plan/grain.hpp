#pragma once

#include <string>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// How the actors of a plan are grouped into segments.
enum class Grain {
  per_op,  ///< each alone
  chains,  ///< actors that follow each other together, branches apart
  fused,   ///< all actors of a replica on its device together
};

/// `per-op`, `chains` or `fused`.
std::string to_string(Grain grain);
/// The grain of that name. Throws Error that lists the names if there is no such grain.
Grain parse_grain(const std::string& name);

/// Groups the actors of a plan, which may have been grouped another way, into segments. Throws Error if a cycle of
/// actors without a token leaves them without an order. CheckedPlan proves the grouped plan live.
///
/// - per_op: every actor is a segment, on the host with its own executor; only the conductors of a process share one.
/// - chains: actors that directly follow each other are one segment, and branches are segments of their own, so that
///   they run on several workers; an op too small for that joins the op that it follows. See chains.hpp.
/// - fused: the actors of one replica on one place are contracted into segments, and the segments of a place share an
///   executor.
///
/// Actors, edges and messages between segments are the same in every grain. In the first two, edges between segments
/// that are never full at the same time share memory. On devices segments only launch work, so the segments of a place
/// share an executor in every grain, and in the first two the segments of a chain share a stream.
Plan in_grain(Plan plan, Grain grain);

Plan split(Plan plan);
Plan chain(Plan plan);
Plan fuse(Plan plan);

}  // namespace troupe
