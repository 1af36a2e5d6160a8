#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Lets edges that are never full at the same time share a block of memory, whatever the order in which actors run:
/// each pair is ordered by the waits of the plan. Edge a comes before edge b if every reader of a has fired before the
/// producer of b does (a path of waits without a token), and every reader of b before the producer of a fires for the
/// next step (a path with one token, as by way of a parameter's update). Fills in PlanEdge::block and Plan::blocks.
///
/// Left alone are edges with more than one slot or with tokens, in-place ones, small ones, and whatever meets an actor
/// of the user's own, which may fire by another rule.
void share_memory(Plan& plan);

}  // namespace troupe
