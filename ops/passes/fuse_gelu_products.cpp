#include <vector>

#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/row_products.hpp"
#include "troupe/ops/passes/sum_of_rows.hpp"

namespace troupe {

namespace {

/// The pass fuse_gelu_products.
class GeluProductFuser {
 public:
  explicit GeluProductFuser(const Graph& graph)
      : graph_(graph),
        products_(graph),
        gelu_of_(graph.nodes().size(), kNoNode),
        product_of_(graph.nodes().size(), kNoNode),
        absorbed_(graph.nodes().size(), false) {
    // A gradient is fused only if its gelu is, so all gelus come first.
    const auto count = static_cast<int>(graph.nodes().size());
    for (int i = 0; i < count; ++i)
      if (node(i).is(kGeluTanh)) find_forward(i);
    for (int i = 0; i < count; ++i)
      if (node(i).is(kGeluTanhGrad)) find_backward(i);
  }

  Graph run() {
    Rewrite rewrite(graph_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (absorbed_[i]) continue;
      if (gelu_of_[i] != kNoNode)
        copy_forward(rewrite, i, gelu_of_[i]);
      else if (product_of_[i] != kNoNode)
        copy_backward(rewrite, i, product_of_[i]);
      else
        rewrite.copy(node(i));
    }
    return std::move(rewrite).finish();
  }

 private:
  static constexpr int kNoNode = -1;

  const Node& node(int i) const { return graph_.nodes()[i]; }
  int producer_of(ValueId value) const { return graph_.values()[value].node; }
  /// Leaves out node i, which becomes part of another one.
  void absorb(int i) { absorbed_[i] = true; }

  /// Fuses a gelu into the product that computes its input, unless another gelu is part of that product already.
  void find_forward(int gelu) {
    const auto product = producer_of(node(gelu).inputs[0]);
    if (!products_.is_product(product) || gelu_of_[product] != kNoNode) return;
    gelu_of_[product] = gelu;
    absorb(gelu);
  }

  /// Fuses the gradient of a gelu with the product that computes its dy and with the sums of its rows.
  void find_backward(int gradient) {
    const auto product = producer_of(node(gradient).inputs[0]), forward = producer_of(node(gradient).inputs[1]);
    if (gelu_of_[forward] == kNoNode) return;
    if (!products_.is_product(product) || !products_.can_move_to(product, gradient)) return;
    product_of_[gradient] = product;
    absorb(product);
    for (auto sum : sums_of(gradient)) absorb(sum);
  }

  /// The nodes that add up the rows of a gradient; none in 16 bits, whose fused op has no sum.
  std::vector<int> sums_of(int gradient) const {
    const auto dx = node(gradient).outputs[0];
    std::vector<int> sums;
    if (graph_.info(dx).dtype != DType::float32) return sums;
    for (auto reader : products_.readers().of(dx))
      if (is_sum_of_rows(graph_, node(reader))) sums.push_back(reader);
    return sums;
  }

  void copy_forward(Rewrite& rewrite, int product, int gelu) const {
    auto fused = node(product);
    fused.op = &kMatmulGeluTanh;
    const bool keeps_product = products_.readers().only_reader(fused.outputs[0]) != gelu;
    std::vector outputs{node(gelu).outputs[0]};
    if (keeps_product) outputs.push_back(fused.outputs[0]);
    rewrite.copy(fused, fused.inputs, fused.attributes.with("keeps_product", keeps_product), outputs);
  }

  void copy_backward(Rewrite& rewrite, int gradient, int product) const {
    auto fused = node(gradient);
    fused.op = &kMatmulGeluTanhGrad;
    auto inputs = node(product).inputs;
    inputs.push_back(fused.inputs[1]);
    const auto sums = sums_of(gradient);
    std::vector outputs{fused.outputs[0]};
    if (!sums.empty()) outputs.push_back(node(sums[0]).outputs[0]);
    rewrite.copy(fused, inputs, node(product).attributes.with("sums_rows", !sums.empty()), outputs);
    for (auto sum : sums) rewrite.map(node(sum).outputs[0], rewrite.mapped(outputs[1]));
  }

  const Graph& graph_;
  RowProducts products_;
  std::vector<int> gelu_of_;     // by product, the gelu that is fused into it
  std::vector<int> product_of_;  // by gradient of a gelu, the product that is fused with it
  std::vector<bool> absorbed_;
};

}  // namespace

Graph fuse_gelu_products(const Graph& graph) {
  return GeluProductFuser(graph).run();
}

}  // namespace troupe
