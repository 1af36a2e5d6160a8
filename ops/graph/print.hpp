#pragma once

#include <string>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The graph as text: one line for each node, such as `%5 dense1.matmul: float32[B, 256] = matmul(%0, %1, %2)
/// relu=true`, where %N is the value with id N, and one line for each output.
std::string to_text(const Graph& graph);

/// The graph in the DOT language of Graphviz; `dot -Tsvg` draws it.
std::string to_dot(const Graph& graph);

}  // namespace troupe
