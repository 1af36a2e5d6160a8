#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

namespace {

// A product_and_magnitude may give a bound of up to 2^64 in place of the magnitude.
constexpr double kLeastBound = 0x1p64;

/// True if a node is a float32 product of two factors that sums over the rows of a batch, the gradient of a matrix.
bool is_gradient_of_matrix(const Graph& graph, const Node& node) {
  const auto is_float32 = [&](ValueId factor) { return graph.info(factor).dtype == DType::float32; };
  const auto is_matrix = [&](ValueId factor) { return graph.info(factor).shape.rank() == 2; };
  if (!std::ranges::all_of(node.inputs, is_float32)) return false;
  return node.is(kOuterSum) || (node.is(kMatmul) && node.inputs.size() == 2 && !node.attributes.flag("relu") &&
                                node.attributes.flag("transpose_a") && std::ranges::all_of(node.inputs, is_matrix));
}

/// True if a node is a largest_magnitude that only tells magnitudes below its bound from others: one with a bound,
/// which is far above 2^64.
bool is_decision(const Node& node) {
  if (!node.is(kLargestMagnitude)) return false;
  const auto bound = node.attributes.number("bound");
  return bound >= kLeastBound && std::isfinite(bound);
}

}  // namespace

Graph fuse_magnitudes(const Graph& graph) {
  std::set<ValueId> fused;  // the products whose magnitudes are read
  for (const auto& node : graph.nodes())
    for (const auto input : node.inputs)
      if (is_decision(node) && is_gradient_of_matrix(graph, graph.producer(input))) fused.insert(input);
  std::map<ValueId, Value> magnitudes;
  Rewrite rewrite(graph);
  for (const auto& node : graph.nodes()) {
    std::vector<Value> inputs;
    for (const auto input : node.inputs) {
      const auto magnitude = is_decision(node) ? magnitudes.find(input) : magnitudes.end();
      inputs.push_back(magnitude != magnitudes.end() ? magnitude->second : rewrite.mapped(input));
    }
    if (node.op->kind == OpKind::source) {
      rewrite.copy(node);
    } else if (fused.contains(node.outputs[0])) {
      auto with_magnitude = node;
      with_magnitude.op = &kProductAndMagnitude;
      with_magnitude.attributes = node.attributes.with("outer", node.is(kOuterSum));
      const auto outputs = rewrite.builder().copy(with_magnitude, inputs);
      rewrite.map(node.outputs[0], outputs[0]);
      magnitudes.emplace(node.outputs[0], outputs[1]);
    } else {
      rewrite.copy(node, inputs);
    }
  }
  return std::move(rewrite).finish();
}

}  // namespace troupe
