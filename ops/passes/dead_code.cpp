#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

Graph eliminate_dead_code(const Graph& graph) {
  std::vector<bool> live(graph.values().size(), false);
  for (const auto& named : graph.outputs()) live[named.value] = true;
  std::vector<bool> keep(graph.nodes().size(), false);
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const auto& node = graph.nodes()[i];
    keep[i] = node.op->kind == OpKind::update || node.is(kInput);
    for (auto output : node.outputs) keep[i] = keep[i] || live[output];
    if (!keep[i]) continue;
    for (auto input : node.inputs) live[input] = true;
  }
  Rewrite rewrite(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    if (keep[i]) rewrite.copy(graph.nodes()[i]);
  return std::move(rewrite).finish();
}

Graph without_outputs(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const auto& node : graph.nodes()) rewrite.copy(node);
  return std::move(rewrite).finish_without_outputs();
}

Graph without_all_reduce(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const auto& node : graph.nodes())
    if (node.is(kAllReduce))
      rewrite.map(node.outputs[0], rewrite.mapped(node.inputs[0]));
    else
      rewrite.copy(node);
  return std::move(rewrite).finish();
}

}  // namespace troupe
