#pragma once

#include <string>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// One line per node: `%5 dense1.matmul: float32[B, 256] = matmul(%0, %1, %2) relu=true`.
std::string to_text(const Graph& graph);

/// The same graph for Graphviz: `dot -Tsvg`.
std::string to_dot(const Graph& graph);

}  // namespace troupe
