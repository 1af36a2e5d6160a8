#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/readers.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

namespace {

/// A run of ops that is fused into its first op, with the inputs and attributes of the fused op.
struct Fusion {
  std::vector<ValueId> inputs;
  Attributes attributes;
  /// The last node of the run; the first one if there is nothing to fuse.
  int last = -1;
};

/// True if `add` adds a bias to a product or convolution.
bool is_bias(const Graph& graph, const Node& add, ValueId product) {
  if (!add.is(kAdd) || add.inputs[0] != product) return false;
  const auto& bias = graph.info(add.inputs[1]).shape;
  return bias.rank() == 1 && bias[0] == graph.info(product).shape.back(0) && !bias.has_batch();
}

/// Extends a run by a relu that is the only reader of its last node.
void absorb_relu(const Graph& graph, const Readers& readers, Fusion& fusion) {
  const auto next = readers.only_reader(graph.nodes()[fusion.last].outputs[0]);
  if (next < 0 || !graph.nodes()[next].is(kRelu)) return;
  fusion.attributes = fusion.attributes.with("relu", true);
  fusion.last = next;
}

/// The run of a product or convolution `first`, a bias and a relu.
Fusion find_bias_and_activation(const Graph& graph, const Readers& readers, int first) {
  const auto& node = graph.nodes()[first];
  Fusion fusion{node.inputs, node.attributes, first};
  if ((!node.is(kMatmul) && !node.is(kConv2d)) || node.attributes.flag("relu")) return fusion;
  const auto next = readers.only_reader(node.outputs[0]);
  if (next >= 0 && node.inputs.size() == 2 && is_bias(graph, graph.nodes()[next], node.outputs[0])) {
    fusion.inputs.push_back(graph.nodes()[next].inputs[1]);
    fusion.last = next;
  }
  absorb_relu(graph, readers, fusion);
  return fusion;
}

/// The run of a batch norm `first`, the addition of a residual and a relu.
Fusion find_residual_and_activation(const Graph& graph, const Readers& readers, int first) {
  const auto& node = graph.nodes()[first];
  Fusion fusion{node.inputs, node.attributes, first};
  if (!node.is(kBatchNorm) || node.attributes.flag("relu")) return fusion;
  const auto normalized = node.outputs[0];
  const auto next = readers.only_reader(normalized);
  if (next >= 0 && node.inputs.size() == 6 && graph.nodes()[next].is(kAdd)) {
    const auto& add = graph.nodes()[next];
    const auto residual = add.inputs[0] == normalized ? add.inputs[1] : add.inputs[0];
    if (residual != normalized && graph.info(residual) == graph.info(normalized)) {
      fusion.inputs.push_back(residual);
      fusion.last = next;
    }
  }
  absorb_relu(graph, readers, fusion);
  return fusion;
}

/// Replaces every run that `find` returns by its first op, with the inputs and attributes of the run.
Graph fuse(const Graph& graph, Fusion (*find)(const Graph&, const Readers&, int first)) {
  const Readers readers(graph);
  Rewrite rewrite(graph);
  const auto& nodes = graph.nodes();
  std::vector<bool> absorbed(nodes.size(), false);
  // The fused op takes the place of the last node of the run, where all inputs are available. The vector has, by last
  // node, the first node and the run.
  std::vector<std::pair<int, Fusion>> ending_at(nodes.size(), {-1, {}});
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    auto fusion = find(graph, readers, i);
    // Two runs may end in the same node, such as the addition of two batch norms. The earlier run gets the node.
    if (fusion.last == i || ending_at[fusion.last].first >= 0) continue;
    for (int node = i; node < fusion.last; node = readers.only_reader(nodes[node].outputs[0])) absorbed[node] = true;
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

}  // namespace

Graph fuse_bias_and_activation(const Graph& graph) {
  return fuse(graph, find_bias_and_activation);
}

Graph fuse_batch_norm(const Graph& graph) {
  return fuse(graph, find_residual_and_activation);
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
    const auto* producer = node.is(kMaxPool) ? &graph.producer(node.inputs[0]) : nullptr;
    if (producer != nullptr && producer->is(kRelu) && readers.only_reader(producer->outputs[0]) == static_cast<int>(i))
      rewrite.copy(node, node.inputs, node.attributes.with("relu", true), node.outputs);
    else
      rewrite.copy(node);
  }
  return std::move(rewrite).finish();
}

Graph optimize_forward(const Graph& graph) {
  return fuse_batch_norm(fuse_bias_and_activation(fuse_pool_and_relu(eliminate_dead_code(graph))));
}

}  // namespace troupe
