#pragma once

#include <algorithm>

#include "troupe/ops/library/reduce.hpp"

namespace troupe {

/// True if a node adds up the rows of its input: a sum over all axes but the last, of which there is at least one.
inline bool is_sum_of_rows(const Graph& graph, const Node& node) {
  if (!node.is(kReduceSum)) return false;
  auto axes = node.attributes.list("axes");
  std::ranges::sort(axes);
  const auto& shape = graph.info(node.inputs[0]).shape;
  return shape.rank() >= 2 && axes == axes_of_rows(shape);
}

}  // namespace troupe
