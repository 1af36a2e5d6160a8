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
  by_replica,  ///< one for every replica; conductors and external actors that serve several replicas have no frame
};

struct DotOptions {
  DotLevel level = DotLevel::actors;
  DotLanes lanes = DotLanes::by_replica;
  /// Numbers the arrows in the order of the boxes, which for segments is the order in which a step sends the messages.
  bool numbered = false;
};

/// Returns a picture of a plan in the language of Graphviz. Sources lie on the left, updates on the right. The color of
/// a box shows the role of its actors. An arrow stands for all edges from one box to another; edges with initial tokens
/// have an arrow of their own. The label of an arrow has a dot for every initial token, the number of edges if there
/// are several, the bytes of their tensors for Plan::max_rows rows, and the slots of a single edge that has several. A
/// dashed arrow carries no data. Throws Error if `level` is `segments` and the plan has none; see grain.hpp.
std::string to_dot(const Plan& plan, const DotOptions& options = {});

}  // namespace troupe
