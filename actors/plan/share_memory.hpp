#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Lets edges between segments that are never full at the same time share a buffer, whatever the order in which actors
/// run: the dependencies of the plan order each pair. Edge a comes before edge b if every reader of a has fired before
/// the producer of b does (a path of dependencies without a token), and every reader of b has fired before the producer
/// of a fires for the next step (a path with one token, such as through a parameter's update). The parts of a pack are
/// computed in their places in the pack if its readers fire before the parts of the next step are computed. Fills in
/// PlanEdge::shared_buffer, shared_offset and Plan::shared_buffers.
///
/// Edges keep memory of their own if they have more than one slot or tokens, are in place or small, or lead to or from
/// another process or an external actor, which may fire by another rule.
void share_memory(Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
