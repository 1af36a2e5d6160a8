#pragma once

#include <string_view>
#include <vector>

#include "troupe/ops/graph/program.hpp"

namespace troupe::ops_test {

using Ops = std::vector<std::string_view>;

/// The names of the ops of a graph, without sources.
inline Ops ops_of(const Graph& graph) {
  Ops ops;
  for (const auto& node : graph.nodes())
    if (node.op->kind != OpKind::source) ops.push_back(node.op->name);
  return ops;
}

/// What the sources and outputs hold after a few runs on a device, in the order of the graph. The sources begin with
/// numbers of both signs that follow from their names; the batch info says which run it is.
std::vector<Tensor> run_graph(const Graph& graph, std::int64_t rows, Device device = {});

}  // namespace troupe::ops_test
