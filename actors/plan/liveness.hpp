#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Proves that the plan can never deadlock in the form in which it will run: a marked graph is live if and only if
/// every directed cycle holds a token (Commoner, Holt, Even and Pnueli, "Marked directed graphs", 1971). The nodes are
/// the segments. A segment takes all inputs and a slot of every output before its first actor fires, and returns inputs
/// after its last, so a token or a slot for which it waits must not come from itself. All ranks of one collective are
/// one node, so communicators that are used in contradicting orders are refused, too.
///
/// Actors with their own firing rule are left out; their edges must have the slots that the rule needs. Throws Error
/// that names a cycle actor by actor, or the edge. CheckedPlan calls it for a plan that is to be spawned.
void check_liveness(const Plan& plan, const Dependencies& dependencies);
void check_liveness(const Plan& plan);

}  // namespace troupe
