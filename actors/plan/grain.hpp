#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// How the actors of a plan are grouped.
enum class Grain {
  per_op,  ///< each alone
  chains,  ///< what follows each other without a fork together
  fused,   ///< all actors of a replica on its device together
};

/// Every actor is a segment with its own executor; only the conductors of a process share one. Edges that are
/// never full at the same time share memory. Throws Error if the plan would deadlock.
Plan split(Plan plan);

/// Actors of which the second is the only one to follow the first within a step, and the first the only one that the
/// second follows, are contracted into segments, so that independent branches of one replica run on several workers.
/// Throws Error if the plan would deadlock.
Plan chain(Plan plan);

/// Actors of one replica on one place are contracted into segments, and the segments of a place share an executor. Same
/// actors, edges and messages between segments. Throws Error if the plan would deadlock.
Plan fuse(Plan plan);

Plan in_grain(Plan plan, Grain grain);

}  // namespace troupe
