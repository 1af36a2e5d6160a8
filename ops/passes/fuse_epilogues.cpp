#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

/// The operand of `add` besides the result of `first`, if the op of `first` can take that operand as one more input;
/// else kNoValue.
using AddendOf = ValueId (*)(const Graph& graph, const Node& first, const Node& add);

ValueId bias_of(const Graph& graph, const Node& product, const Node& add) {
  const auto result = product.outputs[0];
  const auto& addend = graph.info(add.inputs[1]).shape;
  const bool is_bias = product.inputs.size() == 2 && add.inputs[0] == result && addend.rank() == 1 &&
                       addend[0] == graph.info(result).shape.back(0) && !addend.has_batch();
  return is_bias ? add.inputs[1] : kNoValue;
}

ValueId residual_of(const Graph& graph, const Node& norm, const Node& add) {
  const auto result = norm.outputs[0];
  const auto addend = add.inputs[0] == result ? add.inputs[1] : add.inputs[0];
  return norm.inputs.size() == 6 && graph.info(addend) == graph.info(result) ? addend : kNoValue;
}

/// The fusion of a node with the addition to its result and the relu after the addition. Either of them, or both, may
/// be missing.
struct Run {
  Node fused;
  /// The index of the last of the fused nodes; that of the first node if there is nothing to fuse with it.
  int last;
};

Run run_of(const Graph& graph, const Uses& uses, int first, AddendOf addend_of) {
  Run run{graph.nodes()[first], first};
  const auto next = [&](const OpDef& op) {
    const auto reader = uses.only_reader(graph.nodes()[run.last].outputs[0]);
    return reader >= 0 && graph.nodes()[reader].is(op) ? reader : -1;
  };
  if (const auto add = next(kAdd); add >= 0) {
    const auto addend = addend_of(graph, run.fused, graph.nodes()[add]);
    if (addend != kNoValue) {
      run.fused.inputs.push_back(addend);
      run.last = add;
    }
  }
  if (const auto relu = next(kRelu); relu >= 0) {
    run.fused.attributes = run.fused.attributes.with("relu", true);
    run.last = relu;
  }
  run.fused.outputs = graph.nodes()[run.last].outputs;
  return run;
}

/// Fuses every node whose op is one of `ops`, and that has no relu yet, with the addition to its result and the relu
/// after the addition, as far as these nodes exist and nothing else reads the values between them. The fused node takes
/// the place of the last of these nodes, where all inputs are available.
Graph fuse(const Graph& graph, std::initializer_list<const OpDef*> ops, AddendOf addend_of) {
  const Uses uses(graph);
  NodeChanges changes(graph);
  std::vector<bool> is_last(graph.nodes().size(), false);
  for (int first = 0; first < static_cast<int>(graph.nodes().size()); ++first) {
    const auto& node = graph.nodes()[first];
    if (std::ranges::find(ops, node.op) == ops.end() || node.attributes.flag("relu")) continue;
    auto [fused, last] = run_of(graph, uses, first, addend_of);
    // Two Runs may end in the same node, such as the addition of the results of two batch norms. The Run whose first
    // node comes first gets the node.
    if (last == first || is_last[last]) continue;
    is_last[last] = true;
    for (int i = first; i != last; i = uses.only_reader(graph.nodes()[i].outputs[0])) changes.drop(i);
    changes.replace(last, std::move(fused));
  }
  return changes.finish();
}

}  // namespace

Graph fuse_bias_and_activation(const Graph& graph) {
  return fuse(graph, {&kMatmul, &kConv2d}, bias_of);
}

Graph fuse_batch_norm(const Graph& graph) {
  return fuse(graph, {&kBatchNorm}, residual_of);
}

Graph fuse_pool_and_relu(const Graph& graph) {
  const Uses uses(graph);
  NodeChanges changes(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const auto& relu = graph.nodes()[i];
    const auto reader = relu.is(kRelu) ? uses.only_reader(relu.outputs[0]) : -1;
    if (reader < 0 || !graph.nodes()[reader].is(kMaxPool)) continue;
    auto pool = graph.nodes()[reader];
    pool.inputs = relu.inputs;
    pool.attributes = pool.attributes.with("relu", true);
    changes.drop(i);
    changes.replace(reader, std::move(pool));
  }
  return changes.finish();
}

}  // namespace troupe
