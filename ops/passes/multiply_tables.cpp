#include <map>
#include <utility>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

/// The pass multiply_tables. A replaced node keeps its place and its name; the nodes that nothing reads any more are
/// removed at the end.
class TableMultiplier {
 public:
  explicit TableMultiplier(const Graph& graph) : graph_(graph), uses_(graph), rewrite_(graph) {}

  Graph run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (!multiply_table(i) && !multiply_sums(i) && !add_outer_products(i)) rewrite_.copy(graph_.nodes()[i]);
    auto changed = std::move(rewrite_).finish();
    return changes_ > 0 ? eliminate_dead_code(changed) : graph_;
  }

 private:
  const Node& producer(ValueId value) const { return graph_.producer(value); }

  /// True if a sample has at least as many indices as a table has rows.
  bool repeats_rows(ValueId indices, std::int64_t rows) const {
    const auto& shape = graph_.info(indices).shape;
    return (shape.has_batch() ? shape.row_elements() : shape.elements()) >= rows;
  }

  /// The node that computes `value`, if it is a gather from a small matrix which node `at` would find unchanged, else
  /// null. The rows of a row-sparse table are not all present on every process.
  const Node* gather_of(ValueId value, int at) const {
    const auto& node = producer(value);
    if (!node.is(kGather)) return nullptr;
    const auto table = node.inputs[0];
    const auto& shape = graph_.info(table).shape;
    const bool fits = shape.rank() == 2 && repeats_rows(node.inputs[1], shape[0]) &&
                      !GraphBuilder::is_row_sparse(producer(table)) &&
                      uses_.same_at(table, graph_.values()[value].node, at);
    return fits ? &node : nullptr;
  }

  /// True if a node multiplies the rows of a value by one matrix.
  bool is_row_product(const Node& node) const {
    return node.is(kMatmul) && !node.attributes.flag("transpose_a") && graph_.info(node.inputs[1]).shape.rank() == 2;
  }

  /// Replaces a product of gathered rows by a gather from the product of the table.
  bool multiply_table(int i) {
    const auto& product = graph_.nodes()[i];
    if (!is_row_product(product)) return false;
    const auto* const gather = gather_of(product.inputs[0], i);
    if (gather == nullptr) return false;
    std::vector<Value> factors{rewrite_.mapped(gather->inputs[0])};
    for (std::size_t k = 1; k < product.inputs.size(); ++k) factors.push_back(rewrite_.mapped(product.inputs[k]));
    const auto table = rewrite_.builder().copy(product, factors).at(0);
    return replace(i, troupe::gather(table, rewrite_.mapped(gather->inputs[1])));
  }

  /// Replaces the gradient of a table, the sums by index of the rows of a product, by the product of sums by index.
  bool multiply_sums(int i) {
    const auto& sums = graph_.nodes()[i];
    if (!sums.is(kScatterAdd) || !repeats_rows(sums.inputs[1], sums.attributes.integer("rows"))) return false;
    const auto& product = producer(sums.inputs[0]);
    const auto at = graph_.values()[sums.inputs[0]].node;
    if (!is_row_product(product) || product.inputs.size() != 2 || product.attributes.flag("relu") ||
        uses_.only_reader(product.outputs[0]) != i || !uses_.same_at(product.inputs[1], at, i))
      return false;
    const auto rows = sums_by_index(product.inputs[0], sums.inputs[1], sums.attributes.integer("rows"));
    return replace(i, rewrite_.builder().copy(product, std::vector{rows, rewrite_.mapped(product.inputs[1])}).at(0));
  }

  /// Replaces the gradient of a matrix, a sum of products with gathered rows, by one of products with the table's rows.
  bool add_outer_products(int i) {
    const auto& outer = graph_.nodes()[i];
    if (!outer.is(kOuterSum)) return false;
    for (const std::size_t k : {0, 1}) {
      const auto* const gather = gather_of(outer.inputs[k], i);
      if (gather == nullptr) continue;
      std::vector<Value> factors(2);
      factors[k] = rewrite_.mapped(gather->inputs[0]);
      factors[1 - k] = sums_by_index(outer.inputs[1 - k], gather->inputs[1], factors[k].shape()[0]);
      return replace(i, rewrite_.builder().copy(outer, factors).at(0));
    }
    return false;
  }

  /// The sums of the rows of `values` by index. Equal sums are computed once.
  Value sums_by_index(ValueId values, ValueId indices, std::int64_t rows) {
    auto& sums = sums_[{values, indices}];
    if (!sums.valid()) sums = scatter_add(rewrite_.mapped(values), rewrite_.mapped(indices), rows);
    return sums;
  }

  bool replace(int i, Value value) {
    rewrite_.map(graph_.nodes()[i].outputs[0], value);
    ++changes_;
    return true;
  }

  const Graph& graph_;
  Uses uses_;
  Rewrite rewrite_;
  std::map<std::pair<ValueId, ValueId>, Value> sums_;
  int changes_ = 0;
};

}  // namespace

Graph multiply_tables(const Graph& graph) {
  return TableMultiplier(graph).run();
}

}  // namespace troupe
