#pragma once

#include <string>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

/// The boxes of a picture of a plan.
enum class DotLevel {
  actors,    ///< one for every actor
  segments,  ///< one for every segment
};

/// The frames around the boxes.
enum class DotLanes {
  none,
  by_replica,  ///< one for every replica; a conductor or external actor of several replicas has none
};

struct DotOptions {
  DotLevel level = DotLevel::actors;
  DotLanes lanes = DotLanes::by_replica;
  /// Numbers the arrows, sorted by the box from which they lead, then by the box to which they lead. Boxes are in the
  /// order of Plan::actors or Plan::segments.
  bool numbered = false;
};

/// Returns a picture of a plan in the language of Graphviz. Sources form one column, and so do updates, which end a
/// step. The color of a box shows the role of its actors. An arrow stands for all edges between two boxes, or from a
/// box to itself, that have initial tokens, or for all that have none. Edges without initial tokens inside a box are
/// not drawn. The label of an arrow has a dot for every initial token (one dot and the number for more than three), the
/// number of edges if there are several, the bytes of one tensor of each edge for Plan::max_rows rows, and the slots of
/// a single edge that has several. A dashed arrow carries no data. Throws Error if `level` is `segments` and the plan
/// has none; see grain.hpp.
std::string to_dot(const Plan& plan, const DotOptions& options = {});

}  // namespace troupe
