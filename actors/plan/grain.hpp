#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// How actors are spawned: each alone, or contracted into segments.
enum class Grain { per_op, fused };

/// The per-op grain: every actor is a segment and a host of its own; only the conductor's actors share one. Edges that
/// are never full at the same time share memory.
Plan split(Plan plan);

/// The fused grain: actors of one device are contracted into segments, each a convex set whose contraction makes no
/// token-free cycle, and the segments of a device share a host. Same actors, edges and messages between segments.
Plan fuse(Plan plan);

}  // namespace troupe
