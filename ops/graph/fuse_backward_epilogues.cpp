#include <algorithm>

#include "troupe/ops/graph/passes.hpp"
#include "troupe/ops/graph/rewrite.hpp"

namespace troupe {

namespace {

/// Whether a node adds up its input over all axes but the last.
bool is_sum_of_rows(const Graph& graph, const Node& node) {
  if (!node.is(kReduceSum)) return false;
  auto axes = node.attributes.list("axes");
  std::ranges::sort(axes);
  const auto rank = graph.info(node.inputs[0]).shape.rank();
  if (rank < 2 || axes.size() + 1 != rank) return false;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

}  // namespace

Graph fuse_backward_epilogues(const Graph& graph) {
  const auto readers = graph.readers();
  Rewrite rewrite(graph);
  std::vector<bool> absorbed(graph.nodes().size(), false);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& node = graph.nodes()[i];
    if (absorbed[i]) continue;
    std::vector<ValueId> sums;
    if (node.is(kReluGrad))
      for (auto reader : readers[node.outputs[0]]) {
        const auto& sum = graph.nodes()[static_cast<std::size_t>(reader)];
        if (!is_sum_of_rows(graph, sum)) continue;
        absorbed[static_cast<std::size_t>(reader)] = true;
        sums.push_back(sum.outputs[0]);
      }
    if (sums.empty()) {
      rewrite.copy(node);
      continue;
    }
    Node both = node;
    both.op = &kReluGradBias;
    rewrite.copy(both, node.inputs, node.attributes, std::vector{node.outputs[0], sums[0]});
    for (auto sum : sums) rewrite.map(sum, rewrite.mapped(sums[0]));
  }
  return std::move(rewrite).finish();
}

}  // namespace troupe
