#include "troupe/ops/passes/passes.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/exact_convolutions.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

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

Graph without_unread_inputs(const Graph& graph) {
  NodeChanges changes(graph);
  const Uses uses(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const auto& node = graph.nodes()[i];
    if (!node.is(kInput) || node.name == GraphBuilder::kBatchInfo) continue;
    if (uses.readers_of(node.outputs[0]).empty() && !uses.is_output(node.outputs[0])) changes.drop(i);
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
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const auto& node = graph.nodes()[i];
    if (node.is(kAllReduce)) changes.drop(i, node.inputs[0]);
    if (!node.is(kAllGather)) continue;
    if (node.attributes.integer("replicas") != 1)
      throw Error("without_all_reduce", "'" + node.name + "' gathers the values of several replicas");
    auto view = node;
    view.op = &kReshape;
    view.attributes = {{"shape", graph.info(node.outputs[0]).shape.list()}};
    changes.replace(i, std::move(view));
  }
  return changes.finish();
}

Graph direct_convolutions(const Graph& graph) {
  NodeChanges changes(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    auto node = graph.nodes()[i];
    if (!node.is(kConv2d)) continue;
    node.attributes = node.attributes.with("direct", true);
    changes.replace(i, std::move(node));
  }
  return changes.finish();
}

Graph optimize_forward(const Graph& graph) {
  const auto fused = fuse_batch_norm(fuse_bias_and_activation(fuse_pool_and_relu(eliminate_dead_code(graph))));
  return exact_convolutions() ? direct_convolutions(fused) : fused;
}

// multiply_tables comes before compute_in, so that a table and its gradient are multiplied in float32.
Graph optimize_for_host(const Graph& graph, DType compute) {
  const auto multiplied = multiply_tables(graph);
  return fuse_magnitudes(is_16_bit(compute) ? compute_in(multiplied, compute, NormDType::narrow) : multiplied);
}

// fuse_relu_products comes before fuse_backward_epilogues. If a gradient is fused with a product, the sum of that
// gradient therefore stays a separate op.
Graph optimize_for_device(const Graph& graph, DType compute) {
  const bool narrow = is_16_bit(compute);
  auto fused = fuse_backward_epilogues(fuse_relu_products(narrow ? compute_in(graph, compute) : graph));
  // No GPU kernel of a product in full float32 computes a gelu. With that precision fuse_elementwise fuses the gelu
  // with the ops around it instead.
  if (narrow || may_use_tf32()) fused = fuse_gelu_products(fused);
  return merge_updates(fuse_elementwise(cross_entropy_of_logits(fused)));
}

}  // namespace troupe
