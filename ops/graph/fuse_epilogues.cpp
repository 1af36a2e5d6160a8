#include <algorithm>

#include "troupe/ops/graph/passes.hpp"
#include "troupe/ops/graph/rewrite.hpp"

namespace troupe {

namespace {

/// Finds values with a single reader.
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
  if (!add.is(kAdd) || add.inputs[0] != product) return false;
  const auto& bias = graph.info(add.inputs[1]).shape;
  return bias.rank() == 1 && bias[0] == graph.info(product).shape.back(0) && !bias.has_batch();
}

/// The longest run of ops after node `first` that can be fused into it.
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
  if (next >= 0 && graph.nodes()[next].is(kRelu)) {
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
  // The fused op takes the place of its last part, where all inputs of all parts are available.
  std::vector<std::pair<int, Fusion>> ending_at(nodes.size(), {-1, {}});
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    if (!nodes[i].is(kMatmul) && !nodes[i].is(kConv2d)) continue;
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

Graph fuse_pool_and_relu(const Graph& graph) {
  const Readers readers(graph);
  Rewrite rewrite(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& node = graph.nodes()[i];
    const auto reader = node.is(kRelu) ? readers.only_reader(node.outputs[0]) : -1;
    if (reader >= 0 && graph.nodes()[reader].is(kMaxPool)) {
      rewrite.map(node.outputs[0], rewrite.mapped(node.inputs[0]));
      continue;
    }
    const auto* before = node.is(kMaxPool) ? &graph.producer(node.inputs[0]) : nullptr;
    if (before != nullptr && before->is(kRelu) && readers.only_reader(before->outputs[0]) == static_cast<int>(i))
      rewrite.copy(node, node.inputs, node.attributes.with("relu", true), node.outputs);
    else
      rewrite.copy(node);
  }
  return std::move(rewrite).finish();
}

Graph optimize_forward(const Graph& graph) {
  return fuse_bias_and_activation(fuse_pool_and_relu(eliminate_dead_code(graph)));
}

}  // namespace troupe
