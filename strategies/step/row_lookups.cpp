#include "troupe/strategies/step/row_lookups.hpp"

#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

namespace {

/// Returns, for every value of the graph, whether it depends on a parameter.
std::vector<bool> depends_on_parameters(const Graph& graph) {
  std::vector<bool> depends(graph.values().size(), false);
  for (const auto& node : graph.nodes()) {
    const bool on_parameters = node.is(kParameter) || std::ranges::any_of(node.inputs, [&](ValueId input) {
                                 return depends[static_cast<std::size_t>(input)];
                               });
    for (const auto output : node.outputs) depends[static_cast<std::size_t>(output)] = on_parameters;
  }
  return depends;
}

/// The nodes that read the parameter, in graph order.
std::vector<const Node*> lookups_in(const Graph& graph, ValueId parameter) {
  const auto readers = graph.readers();
  std::vector<const Node*> lookups;
  for (const auto reader : readers[static_cast<std::size_t>(parameter)])
    lookups.push_back(&graph.nodes()[static_cast<std::size_t>(reader)]);
  return lookups;
}

bool is_view(const Graph& graph, ValueId value) {
  return graph.producer(value).op->kind == OpKind::view;
}

/// Joins the lookups of a parameter into one. The indices of a single lookup keep their shape unless they are a view.
/// The indices of several lookups, or of a view, get the shape [B, n], with the n indices of all lookups side by side
/// in each batch row.
RowLookup lookup_of(const Graph& graph, ValueId parameter, const std::vector<const Node*>& lookups) {
  RowLookup joint{graph.info(parameter), graph.info(lookups.front()->inputs[1]), {}};
  std::int64_t all = 0;
  for (const auto* lookup : lookups) {
    joint.columns.push_back(graph.info(lookup->inputs[1]).shape.row_elements());
    all += joint.columns.back();
  }
  if (lookups.size() > 1 || is_view(graph, lookups.front()->inputs[1])) joint.indices.shape = Shape{kBatch, all};
  return joint;
}

/// True if the parameter is row-sparse, and the model uses it only to look up rows by indices that can be joined and
/// depend on no parameter. `depends` is the result of depends_on_parameters().
bool is_looked_up(const Graph& graph, ValueId parameter, const std::vector<bool>& depends) {
  if (!GraphBuilder::is_row_sparse(graph.producer(parameter))) return false;
  const auto lookups = lookups_in(graph, parameter);
  const auto is_output = [&](const NamedValue& named) { return named.value == parameter; };
  if (lookups.empty() || std::ranges::any_of(graph.outputs(), is_output)) return false;
  return std::ranges::all_of(lookups, [&](const Node* node) {
    if (!node->is(kGather) || node->inputs[1] == parameter) return false;
    const auto& indices = graph.info(node->inputs[1]);
    return indices.shape.has_batch() && indices.shape.row_elements() > 0 &&
           indices.dtype == graph.info(lookups.front()->inputs[1]).dtype &&
           !depends[static_cast<std::size_t>(node->inputs[1])];
  });
}

/// Adds the ops that join the indices of all lookups of a parameter, and returns the joined indices. The indices of a
/// single lookup are returned unchanged unless they are a view.
Value indices_of_all(GraphBuilder& builder, const std::vector<const Node*>& lookups) {
  const auto first = lookups.front()->inputs[1];
  if (lookups.size() == 1 && !is_view(builder.graph(), first)) return builder.value(first);
  std::vector<Value> parts;
  for (const auto* lookup : lookups) {
    const auto indices = builder.value(lookup->inputs[1]);
    parts.push_back(reshape(indices, {kBatch, indices.shape().row_elements()}));
  }
  return concat(parts, 1);
}

/// Replaces the output of each lookup by its part of `rows`, the rows of all lookups of the parameter.
void replace_lookups(Rewrite& rewrite, const Graph& graph, const LookedUpParameter& looked_up, Value rows) {
  const auto lookups = lookups_in(graph, looked_up.value);
  const auto only = lookups.front()->outputs[0];
  if (lookups.size() == 1 && rows.info() == graph.info(only)) return rewrite.map(only, rows);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    const auto& shape = graph.info(lookups[i]->outputs[0]).shape;
    const auto count = looked_up.lookup.columns[i];
    rewrite.map(lookups[i]->outputs[0], reshape(slice(rows, 1, begin, count), shape));
    begin += count;
  }
}

}  // namespace

std::vector<LookedUpParameter> find_lookups(const Graph& forward, const Optimizer& optimizer) {
  const auto depends = depends_on_parameters(forward);
  std::vector<LookedUpParameter> looked_up;
  for (const auto id : forward.sources(kParameter)) {
    const auto& node = forward.producer(id);
    if (!optimizer.trains(node.name) || !is_looked_up(forward, id, depends)) continue;
    looked_up.push_back({id, node.name, node.initializer, lookup_of(forward, id, lookups_in(forward, id))});
  }
  return looked_up;
}

Graph index_graph(const Graph& forward, const std::vector<LookedUpParameter>& looked_up) {
  GraphBuilder builder(without_outputs(forward));
  for (const auto& parameter : looked_up)
    builder.output(names::indices_of(parameter.name), indices_of_all(builder, lookups_in(forward, parameter.value)));
  return eliminate_dead_code(std::move(builder).build());
}

Graph with_rows_as_inputs(const Graph& forward, const std::vector<LookedUpParameter>& looked_up) {
  Rewrite rewrite(forward);
  std::vector<ValueId> dropped;
  for (const auto& parameter : looked_up) {
    const auto rows = parameter.lookup.rows();
    replace_lookups(rewrite, forward, parameter,
                    rewrite.builder().input(names::rows_of(parameter.name), rows.shape, rows.dtype));
    dropped.push_back(parameter.value);
    for (const auto* lookup : lookups_in(forward, parameter.value)) dropped.push_back(lookup->outputs[0]);
  }
  for (const auto& node : forward.nodes())
    if (std::ranges::find(dropped, node.outputs[0]) == dropped.end()) rewrite.copy(node);
  return std::move(rewrite).finish();
}

}  // namespace troupe
