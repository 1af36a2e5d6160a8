#include <algorithm>

#include "troupe/ops/graph/passes.hpp"
#include "troupe/ops/graph/rewrite.hpp"

namespace troupe {

namespace {

/// Finds pairs of nodes of which the first is read by nothing but the second.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph), readers_(graph.readers()) {}

  /// The index of the only reader of a value, or -1 if there are more or the value is an output of the graph.
  int only_reader(ValueId value) const {
    const auto& outputs = graph_.outputs();
    if (std::any_of(outputs.begin(), outputs.end(), [&](const auto& named) { return named.value == value; })) return -1;
    return readers_[value].size() == 1 ? readers_[value][0] : -1;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
};

struct Fusion {
  std::vector<ValueId> inputs;
  Attributes attributes;
  int last = -1;
};

bool is_bias(const Graph& graph, const Node& add, ValueId product) {
  if (!add.is("add") || add.inputs[0] != product) return false;
  const auto& bias = graph.info(add.inputs[1]).shape;
  return bias.rank() == 1 && bias[0] == graph.info(product).shape.back(0) && !bias.has_batch();
}

/// How far the ops after node `first` can be taken into it.
Fusion find_fusion(const Graph& graph, const Readers& readers, int first) {
  const auto& node = graph.nodes()[first];
  Fusion fusion{node.inputs, node.attributes, first};
  if (node.attributes.flag("relu")) return fusion;
  auto next = readers.only_reader(node.outputs[0]);
  if (next >= 0 && node.inputs.size() == 2 && is_bias(graph, graph.nodes()[next], node.outputs[0])) {
    fusion.inputs.push_back(graph.nodes()[next].inputs[1]);
    fusion.last = next;
    next = readers.only_reader(graph.nodes()[next].outputs[0]);
  }
  if (next >= 0 && graph.nodes()[next].is("relu")) {
    fusion.attributes = fusion.attributes.with("relu", true);
    fusion.last = next;
  }
  return fusion;
}

}  // namespace

Graph fuse_bias_and_activation(const Graph& graph) {
  const Readers readers(graph);
  Rewrite rewrite(graph);
  const auto& nodes = graph.nodes();
  std::vector<bool> absorbed(nodes.size(), false);
  // The fused op stands where its last part stood: by then every input of every part is there.
  std::vector<std::pair<int, Fusion>> ending_at(nodes.size(), {-1, {}});
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    if (!nodes[i].is("matmul") && !nodes[i].is("conv2d")) continue;
    auto fusion = find_fusion(graph, readers, i);
    if (fusion.last == i) continue;
    for (int part = i; part < fusion.last; part = readers.only_reader(nodes[part].outputs[0])) absorbed[part] = true;
    ending_at[fusion.last] = {i, std::move(fusion)};
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (absorbed[i]) continue;
    const auto& [first, fusion] = ending_at[i];
    if (first < 0)
      rewrite.copy(nodes[i]);
    else
      rewrite.copy(nodes[first], fusion.inputs, fusion.attributes, nodes[i].outputs);
  }
  return std::move(rewrite).finish();
}

Graph pool_before_relu(const Graph& graph) {
  const Readers readers(graph);
  Rewrite rewrite(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& node = graph.nodes()[i];
    const auto reader = node.is("relu") ? readers.only_reader(node.outputs[0]) : -1;
    if (reader >= 0 && graph.nodes()[reader].is("max_pool")) {
      rewrite.map(node.outputs[0], rewrite.mapped(node.inputs[0]));
      continue;
    }
    rewrite.copy(node);
    if (!node.is("max_pool")) continue;
    const auto& before = graph.producer(node.inputs[0]);
    if (before.is("relu") && readers.only_reader(before.outputs[0]) == static_cast<int>(i))
      rewrite.copy(before, std::span(node.outputs).first(1), before.attributes, std::span(node.outputs).first(1));
  }
  return std::move(rewrite).finish();
}

Graph optimize_forward(const Graph& graph) {
  return fuse_bias_and_activation(pool_before_relu(eliminate_dead_code(graph)));
}

}  // namespace troupe
