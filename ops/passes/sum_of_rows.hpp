#pragma once

#include <algorithm>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Whether a node adds up its input over all axes but the last.
inline bool is_sum_of_rows(const Graph& graph, const Node& node) {
  if (!node.is(kReduceSum)) return false;
  auto axes = node.attributes.list("axes");
  std::ranges::sort(axes);
  const auto rank = graph.info(node.inputs[0]).shape.rank();
  if (rank < 2 || axes.size() + 1 != rank) return false;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

}  // namespace troupe
