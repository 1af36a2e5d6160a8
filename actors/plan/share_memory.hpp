#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Lets edges between segments that are never full at the same time share a buffer, whatever the order in which actors
/// run: each pair is ordered by the dependencies of the plan. Edge a comes before edge b if every reader of a has fired
/// before the producer of b does (a path of dependencies without a token), and every reader of b before the producer of
/// a fires for the next step (a path with one token, as by way of a parameter's update). The parts of a pack are
/// computed in their places of it if its readers come before the parts of the next step are made. Fills in
/// PlanEdge::shared_buffer, shared_offset and Plan::shared_buffers.
///
/// Left alone are edges with more than one slot or with tokens, in-place ones, small ones, and whatever meets an
/// external actor, which may fire by another rule, or another process.
void share_memory(Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
