#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Proves that the plan can never deadlock in its present grouping: a marked graph is live if and only if every
/// directed cycle holds a token (Commoner, Holt, Even and Pnueli, "Marked directed graphs", 1971). The nodes are the
/// segments. A segment takes a tensor of every input and a slot of every output before its first actor fires, and
/// returns the inputs after its last actor has fired, so it must not wait for a token or a slot that it sends itself.
/// The conductors of all processes of one collective are one node, so a plan that uses two communicators in
/// contradicting orders is refused, too.
///
/// Edges of actors with their own firing rule are left out of the graph; each must have as many slots as
/// PlanInput::holds. Throws Error that names a cycle actor by actor, or the edge. CheckedPlan calls it for a plan that
/// is to be spawned.
void check_liveness(const Plan& plan, const Dependencies& dependencies);
void check_liveness(const Plan& plan);

}  // namespace troupe
