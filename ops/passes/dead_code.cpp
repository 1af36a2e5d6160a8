#include <algorithm>

#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

Graph eliminate_dead_code(const Graph& graph) {
  NodeChanges changes(graph);
  std::vector<bool> live(graph.values().size(), false);
  for (const auto& named : graph.outputs()) live[named.value] = true;
  for (auto i = static_cast<int>(graph.nodes().size()); i-- > 0;) {
    const auto& node = graph.nodes()[i];
    const bool keep = node.op->kind == OpKind::update || node.is(kInput) ||
                      std::ranges::any_of(node.outputs, [&](ValueId output) { return live[output]; });
    if (keep)
      for (auto input : node.inputs) live[input] = true;
    else
      changes.drop(i);
  }
  return changes.finish();
}

Graph without_outputs(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const auto& node : graph.nodes()) rewrite.copy(node);
  return std::move(rewrite.builder()).build();
}

Graph without_all_reduce(const Graph& graph) {
  NodeChanges changes(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (const auto& node = graph.nodes()[i]; node.is(kAllReduce)) changes.drop(i, node.inputs[0]);
  return changes.finish();
}

}  // namespace troupe
