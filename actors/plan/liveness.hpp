#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Proves that the plan can never deadlock in its present grouping into segments: a marked graph is live if and only if
/// every directed cycle holds a token (Commoner, Holt, Even and Pnueli, "Marked directed graphs", 1971). The nodes are
/// the segments, or the actors if the plan is not grouped. A segment takes a tensor of every input and a slot of every
/// output before its first actor fires, and returns the inputs after its last actor has fired, so it must not wait for
/// a token or a slot that it sends itself. The conductors that begin the same collective in several processes are one
/// node, so a plan that uses two communicators in contradicting orders is refused, too.
///
/// Edges of actors with their own firing rule are left out of the graph. An edge that such an actor reads must have at
/// least PlanInput::holds slots. Throws Error that names a cycle actor by actor, or the edge. CheckedPlan calls this
/// function for a plan that is to be spawned.
void check_liveness(const Plan& plan, const Dependencies& dependencies);
void check_liveness(const Plan& plan);

}  // namespace troupe
