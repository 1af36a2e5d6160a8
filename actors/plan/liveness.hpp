#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Proves that the plan can never deadlock in the form in which it will run: a marked graph is live iff every directed
/// cycle holds a token (Commoner, Holt, Even and Pnueli, "Marked directed graphs", 1971). Its nodes are the segments,
/// which take all inputs and a slot of every output before their first actor fires and return inputs after the last, so
/// a token or a slot that a segment waits for must not come from itself. All ranks of one collective are one node, so
/// communicators that are used in contradicting orders are refused too.
///
/// Actors with their own firing rule are left out; for them the edges are checked to have the slots that the rule
/// needs. Throws Error that names a cycle actor by actor, or the edge.
void check_liveness(const Plan& plan, const Dependencies& dependencies);
void check_liveness(const Plan& plan);

}  // namespace troupe
