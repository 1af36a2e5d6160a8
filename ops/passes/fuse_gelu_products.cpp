#include <vector>

#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/row_products.hpp"
#include "troupe/ops/passes/sum_of_rows.hpp"

namespace troupe {

namespace {

class GeluProductFuser {
 public:
  explicit GeluProductFuser(const Graph& graph)
      : graph_(graph),
        products_(graph),
        gelu_of_(graph.nodes().size(), kNoNode),
        product_of_(graph.nodes().size(), kNoNode),
        absorbed_(graph.nodes().size(), false) {
    const auto count = static_cast<int>(graph.nodes().size());
    for (int i = 0; i < count; ++i)
      if (node(i).is(kGeluTanh)) find_forward(i);
    for (int i = 0; i < count; ++i)
      if (node(i).is(kGeluTanhGrad)) find_backward(i);
  }

  Graph run() {
    Rewrite rewrite(graph_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (absorbed_[at]) continue;
      if (gelu_of_[at] != kNoNode)
        copy_forward(rewrite, i, gelu_of_[at]);
      else if (product_of_[at] != kNoNode)
        copy_backward(rewrite, i, product_of_[at]);
      else
        rewrite.copy(node(i));
    }
    return std::move(rewrite).finish();
  }

 private:
  static constexpr int kNoNode = -1;

  const Node& node(int i) const { return graph_.nodes()[static_cast<std::size_t>(i)]; }
  int producer_of(ValueId value) const { return graph_.values()[value].node; }
  void absorb(int i) { absorbed_[static_cast<std::size_t>(i)] = true; }

  void find_forward(int gelu) {
    const auto product = producer_of(node(gelu).inputs[0]);
    auto& known = gelu_of_[static_cast<std::size_t>(product)];
    if (!products_.is_product(product, false) || known != kNoNode) return;
    known = gelu;
    absorb(gelu);
  }

  void find_backward(int gradient) {
    const auto product = producer_of(node(gradient).inputs[0]), forward = producer_of(node(gradient).inputs[1]);
    if (gelu_of_[static_cast<std::size_t>(forward)] == kNoNode) return;
    if (!products_.is_product(product, false) || !products_.can_move_to(product, gradient)) return;
    product_of_[static_cast<std::size_t>(gradient)] = product;
    absorb(product);
    for (auto sum : sums_of(gradient)) absorb(sum);
  }

  /// The nodes that add up the rows of a gradient, which its product can do where it is float32.
  std::vector<int> sums_of(int gradient) const {
    const auto dx = node(gradient).outputs[0];
    std::vector<int> sums;
    if (graph_.info(dx).dtype != DType::float32) return sums;
    for (auto reader : products_.readers().of(dx))
      if (is_sum_of_rows(graph_, node(reader))) sums.push_back(reader);
    return sums;
  }

  void copy_forward(Rewrite& rewrite, int product, int gelu) const {
    auto both = node(product);
    both.op = &kMatmulGeluTanh;
    const bool kept = products_.readers().only_reader(both.outputs[0]) != gelu;
    std::vector outputs{node(gelu).outputs[0]};
    if (kept) outputs.push_back(both.outputs[0]);
    rewrite.copy(both, both.inputs, both.attributes.with("keeps_product", kept), outputs);
  }

  void copy_backward(Rewrite& rewrite, int gradient, int product) const {
    auto both = node(gradient);
    both.op = &kMatmulGeluTanhGrad;
    auto inputs = node(product).inputs;
    inputs.push_back(both.inputs[1]);
    const auto sums = sums_of(gradient);
    std::vector outputs{both.outputs[0]};
    if (!sums.empty()) outputs.push_back(node(sums[0]).outputs[0]);
    rewrite.copy(both, inputs, node(product).attributes.with("sums_rows", !sums.empty()), outputs);
    for (auto sum : sums) rewrite.map(node(sum).outputs[0], rewrite.mapped(outputs[1]));
  }

  const Graph& graph_;
  RowProducts products_;
  std::vector<int> gelu_of_;     // of a product: the gelu of it
  std::vector<int> product_of_;  // of a gelu's gradient: the product that makes its dy
  std::vector<bool> absorbed_;
};

}  // namespace

Graph fuse_gelu_products(const Graph& graph) {
  return GeluProductFuser(graph).run();
}

}  // namespace troupe
