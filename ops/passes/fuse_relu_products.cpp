#include <vector>

#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/row_products.hpp"

namespace troupe {

namespace {

/// The pass fuse_relu_products.
class ReluProductFuser {
 public:
  explicit ReluProductFuser(const Graph& graph)
      : graph_(graph), products_(graph), product_of_(graph.nodes().size(), -1), absorbed_(graph.nodes().size(), false) {
    for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) find(i);
  }

  Graph run() {
    Rewrite rewrite(graph_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (absorbed_[i]) continue;
      if (product_of_[i] >= 0)
        copy_fused(rewrite, node(i), node(product_of_[i]));
      else
        rewrite.copy(node(i));
    }
    return std::move(rewrite).finish();
  }

 private:
  const Node& node(int i) const { return graph_.nodes()[i]; }
  int producer_of(ValueId value) const { return graph_.values()[value].node; }

  bool is_float32_product(int i) const {
    const auto is_float32 = [&](ValueId value) { return graph_.info(value).dtype == DType::float32; };
    return products_.is_product(i) && is_float32(node(i).inputs[0]) && is_float32(node(i).outputs[0]);
  }

  /// Fuses node i, if it is the gradient of a relu, with the product that computes its dy.
  void find(int i) {
    if (!node(i).is(kReluGrad)) return;
    const auto product = producer_of(node(i).inputs[0]);
    if (!is_float32_product(product) || !products_.can_move_to(product, i)) return;
    product_of_[i] = product;
    absorbed_[product] = true;
  }

  static void copy_fused(Rewrite& rewrite, const Node& gradient, const Node& product) {
    auto fused = gradient;
    fused.op = &kMatmulReluGrad;
    auto inputs = product.inputs;
    inputs.push_back(gradient.inputs[1]);
    rewrite.copy(fused, inputs, product.attributes, gradient.outputs);
  }

  const Graph& graph_;
  RowProducts products_;
  std::vector<int> product_of_;  // by gradient of a relu, the product that is fused with it; -1 for other nodes
  std::vector<bool> absorbed_;
};

}  // namespace

Graph fuse_relu_products(const Graph& graph) {
  return ReluProductFuser(graph).run();
}

}  // namespace troupe
