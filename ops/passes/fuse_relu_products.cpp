#include <vector>

#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/row_products.hpp"

namespace troupe {

namespace {

class ReluProductFuser {
 public:
  explicit ReluProductFuser(const Graph& graph)
      : graph_(graph), products_(graph), product_of_(graph.nodes().size(), -1), absorbed_(graph.nodes().size(), false) {
    for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) find(i);
  }

  Graph run() {
    Rewrite rewrite(graph_);
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (absorbed_[i]) continue;
      if (product_of_[i] >= 0)
        copy_with_product(rewrite, i);
      else
        rewrite.copy(graph_.nodes()[i]);
    }
    return std::move(rewrite).finish();
  }

 private:
  const Node& node(int i) const { return graph_.nodes()[static_cast<std::size_t>(i)]; }
  int producer_of(ValueId value) const { return graph_.values()[value].node; }

  bool is_float32_product(int i) const {
    const auto is_float32 = [&](ValueId value) { return graph_.info(value).dtype == DType::float32; };
    return products_.is_product(i, false) && is_float32(node(i).inputs[0]) && is_float32(node(i).outputs[0]);
  }

  void find(int i) {
    if (!node(i).is(kReluGrad)) return;
    const auto product = producer_of(node(i).inputs[0]);
    if (!is_float32_product(product) || !products_.can_move_to(product, i)) return;
    product_of_[static_cast<std::size_t>(i)] = product;
    absorbed_[static_cast<std::size_t>(product)] = true;
  }

  void copy_with_product(Rewrite& rewrite, std::size_t i) {
    const auto& gradient = graph_.nodes()[i];
    const auto& product = node(product_of_[i]);
    std::vector<Value> inputs;
    for (const auto value : product.inputs) inputs.push_back(rewrite.mapped(value));
    inputs.push_back(rewrite.mapped(gradient.inputs[1]));
    auto changed = gradient;
    changed.op = &kMatmulReluGrad;
    changed.attributes = product.attributes;
    rewrite.map(gradient.outputs[0], rewrite.builder().copy(changed, inputs)[0]);
  }

  const Graph& graph_;
  RowProducts products_;
  std::vector<int> product_of_;  // of the gradient of a relu: the product that becomes part of it, or -1
  std::vector<bool> absorbed_;
};

}  // namespace

Graph fuse_relu_products(const Graph& graph) {
  return ReluProductFuser(graph).run();
}

}  // namespace troupe
