#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

/// The passes fuse_relu_products, fuse_backward_epilogues and fuse_gelu_products. A gelu_tanh is fused with the product
/// that computes its input. The gradient of a gelu_tanh is fused with the product that computes its dy and, if it is
/// float32, with the sum of the gradient over its rows. The gradient of a relu is fused with one of them, the product
/// or the sum. Only products in which one matrix multiplies all rows of the other factor are fused.
class ProductFuser {
 public:
  explicit ProductFuser(const Graph& graph)
      : graph_(graph), uses_(graph), changes_(graph), has_gelu_(graph.nodes().size(), false) {}

  /// Calls the member function `fuse` with the index of every node of `op`, in graph order.
  void for_each(const OpDef& op, void (ProductFuser::*fuse)(int)) {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (node(i).is(op)) (this->*fuse)(i);
  }
  Graph finish() const { return changes_.finish(); }

  /// Fuses the gradient of a relu with the product that computes its dy, if product_before() finds that product and the
  /// product and its factors are float32.
  void fuse_relu_gradient(int gradient) {
    const auto product = product_before(gradient);
    const auto is_float32 = [&](ValueId value) { return graph_.info(value).dtype == DType::float32; };
    if (product < 0 || !is_float32(node(product).inputs[0]) || !is_float32(node(product).outputs[0])) return;
    changes_.replace(gradient, with_product(kMatmulReluGrad, gradient, product));
  }

  /// Fuses the gradient of a relu with the nodes that sum the gradient over all axes but the last. Changes nothing if
  /// there are no such nodes.
  void fuse_relu_gradient_sums(int gradient) {
    auto fused = node(gradient);
    fused.op = &kReluGradBias;
    if (absorb_sums(fused)) changes_.replace(gradient, std::move(fused));
  }

  /// Fuses a gelu into the product that computes its input, unless that product has a relu or another gelu, or is not a
  /// product of rows by one matrix. If the product has other readers or is an output of the graph, it becomes the
  /// second output of the fused node.
  void fuse_gelu(int gelu) {
    const auto product = producer_of(node(gelu).inputs[0]);
    if (!is_row_product(node(product)) || has_gelu_[product]) return;
    const bool keeps_product = uses_.only_reader(node(product).outputs[0]) != gelu;
    auto fused = node(product);
    fused.op = &kMatmulGeluTanh;
    fused.attributes = fused.attributes.with("keeps_product", keeps_product);
    fused.outputs = node(gelu).outputs;
    if (keeps_product) fused.outputs.push_back(node(product).outputs[0]);
    has_gelu_[product] = true;
    changes_.drop(gelu);
    changes_.replace(product, std::move(fused));
  }

  /// Fuses the gradient of a gelu with the product that computes its dy, if the gelu is fused with a product. Also
  /// fuses the nodes that sum a float32 gradient over all axes but the last; the fused op cannot sum 16-bit gradients.
  void fuse_gelu_gradient(int gradient) {
    const auto product = product_before(gradient);
    if (product < 0 || !has_gelu_[producer_of(node(gradient).inputs[1])]) return;
    auto fused = with_product(kMatmulGeluTanhGrad, gradient, product);
    const bool sums_rows = graph_.info(fused.outputs[0]).dtype == DType::float32 && absorb_sums(fused);
    fused.attributes = fused.attributes.with("sums_rows", sums_rows);
    changes_.replace(gradient, std::move(fused));
  }

 private:
  const Node& node(int i) const { return graph_.nodes()[i]; }
  int producer_of(ValueId value) const { return graph_.values()[value].node; }

  /// True if a node is a matmul without a relu in which one matrix multiplies all rows of a factor that is not
  /// transposed.
  bool is_row_product(const Node& node) const {
    return node.is(kMatmul) && !node.attributes.flag("transpose_a") && !node.attributes.flag("relu") &&
           graph_.info(node.inputs[1]).shape.rank() == 2;
  }

  /// The index of the product that computes input 0, the dy, of a gradient. Returns -1 unless the product can be
  /// computed at the place of the gradient: is_row_product() is true, it has no bias, nothing else reads it, and no
  /// update between the two nodes overwrites a factor.
  int product_before(int gradient) const {
    const auto product = producer_of(node(gradient).inputs[0]);
    const auto& factors = node(product).inputs;
    const auto stays = [&](ValueId factor) { return uses_.same_at(factor, product, gradient); };
    const bool can_move = is_row_product(node(product)) && factors.size() == 2 &&
                          uses_.only_reader(node(product).outputs[0]) == gradient &&
                          std::ranges::all_of(factors, stays);
    return can_move ? product : -1;
  }

  /// Returns a node of `op` that computes a product and then, with the product as dy, the gradient of an activation.
  /// Drops the node of the product; the caller must put the returned node in the place of the gradient.
  Node with_product(const OpDef& op, int gradient, int product) {
    auto fused = node(gradient);
    fused.op = &op;
    fused.inputs = node(product).inputs;
    fused.inputs.push_back(node(gradient).inputs[1]);
    fused.attributes = node(product).attributes;
    changes_.drop(product);
    return fused;
  }

  /// Adds to `fused` a second output, the sum of the first output over all axes but the last, and drops the nodes that
  /// compute that sum. Returns false if no node computes it, or the first output has fewer than two axes.
  bool absorb_sums(Node& fused) {
    const auto rows = fused.outputs[0];
    for (auto reader : uses_.readers_of(rows)) {
      if (!node(reader).is(kReduceSum) || graph_.info(rows).shape.rank() < 2) continue;
      auto axes = node(reader).attributes.list("axes");
      std::ranges::sort(axes);
      if (axes != axes_of_rows(graph_.info(rows).shape)) continue;
      if (fused.outputs.size() == 1) fused.outputs.push_back(node(reader).outputs[0]);
      changes_.drop(reader, fused.outputs[1]);
    }
    return fused.outputs.size() == 2;
  }

  const Graph& graph_;
  Uses uses_;
  NodeChanges changes_;
  std::vector<bool> has_gelu_;  // by node, true if a gelu is fused into the node
};

}  // namespace

Graph fuse_relu_products(const Graph& graph) {
  ProductFuser fuser(graph);
  fuser.for_each(kReluGrad, &ProductFuser::fuse_relu_gradient);
  return fuser.finish();
}

Graph fuse_backward_epilogues(const Graph& graph) {
  ProductFuser fuser(graph);
  fuser.for_each(kReluGrad, &ProductFuser::fuse_relu_gradient_sums);
  return fuser.finish();
}

// The gradient of a gelu is fused only if the gelu is fused, so all gelus are fused first.
Graph fuse_gelu_products(const Graph& graph) {
  ProductFuser fuser(graph);
  fuser.for_each(kGeluTanh, &ProductFuser::fuse_gelu);
  fuser.for_each(kGeluTanhGrad, &ProductFuser::fuse_gelu_gradient);
  return fuser.finish();
}

}  // namespace troupe
