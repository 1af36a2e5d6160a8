#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Lets edges between segments that are never full at the same time share a buffer if their producers have one place.
/// The dependencies of the plan order each pair of such edges, so the edges are never full together in any order in
/// which actors run. Two edges may share if one comes before the other: edge a comes before edge b if every reader of a
/// has fired before the producer of b does (a path of dependencies without a token), and every reader of b has fired
/// before the producer of a fires for the next step (a path with one token, such as through a parameter's update). The
/// inputs of an op that packs them are computed at their offsets in the packed output, if all readers of this output
/// have fired before these inputs are computed in the next step. Fills in PlanEdge::shared_buffer, shared_offset and
/// Plan::shared_buffers. Without `on_devices`, edges whose producers are on devices with memory of their own keep it.
///
/// An edge keeps memory of its own if it has several slots or initial tokens, if its tensor is a parameter or
/// overwrites an input in place, if it is smaller than 4 KiB and no input of a packing op, or if it leads to or from
/// another process or an external actor (ActorRole::external), which may fire by another rule. The plan must have
/// segments and no shared buffers. Throws Error if the plan has more than Reachability::kMostActors actors.
void share_memory(Plan& plan, const Dependencies& dependencies, bool on_devices = true);

}  // namespace troupe
