#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/sum_of_rows.hpp"

namespace troupe {

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
        const auto& sum = graph.nodes()[reader];
        if (!is_sum_of_rows(graph, sum)) continue;
        absorbed[reader] = true;
        sums.push_back(sum.outputs[0]);
      }
    if (sums.empty()) {
      rewrite.copy(node);
      continue;
    }
    Node fused = node;
    fused.op = &kReluGradBias;
    rewrite.copy(fused, node.inputs, node.attributes, std::vector{node.outputs[0], sums[0]});
    for (auto sum : sums) rewrite.map(sum, rewrite.mapped(sums[0]));
  }
  return std::move(rewrite).finish();
}

}  // namespace troupe
