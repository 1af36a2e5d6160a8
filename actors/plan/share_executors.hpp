#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Lets segments on the host that never run at the same time share an executor, so that they exchange no messages and
/// what one of them computes stays in the cache of one core. Segment b may share the executor of segment a if the last
/// large op of a comes before b within a step, and the last op of b comes before a in the next step. Of several
/// executors, b takes the one that computes most bytes of its inputs. Segments of actors that can_contract()
/// (chains.hpp) excludes keep executors of their own. The plan must have segments in the order of `dependencies`, each
/// with its own executor. Throws Error if the plan has more than Reachability::kMostActors actors.
void share_executors(Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
