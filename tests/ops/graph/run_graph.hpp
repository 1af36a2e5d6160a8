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

/// The elements of the sources, by name, and of the outputs after a few runs on a device. The names of the sources give
/// their first elements, numbers of both signs. The batch info has the number of the run.
std::vector<Tensor> run_graph(const Graph& graph, std::int64_t rows, Device device = {});

}  // namespace troupe::ops_test
