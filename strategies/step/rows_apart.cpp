#include "troupe/strategies/step/rows_apart.hpp"

#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

[[noreturn]] void refuse(const Graph& graph, const std::string& reader, ValueId part) {
  throw Error("strategy", reader + " depends on '" + graph.producer(part).name +
                              "', which one replica computes from its own rows of the batch; a loss over pairs of rows "
                              "of the batch needs all rows: use one replica, or collect the value by all_reduce");
}

}  // namespace

void expect_rows_apart(const Graph& graph) {
  // By value: the value of one replica's rows from which it is computed.
  std::vector<ValueId> part_of(graph.values().size(), kNoValue);
  for (const auto& node : graph.nodes()) {
    if (node.op->kind == OpKind::collective) continue;
    auto part = kNoValue;
    bool reads_rows = false;
    for (const auto input : node.inputs) {
      reads_rows |= graph.info(input).shape.has_batch();
      if (part == kNoValue) part = part_of[input];
    }
    for (const auto output : node.outputs) {
      const bool is_of_rows = graph.info(output).shape.has_batch();
      if (is_of_rows && part != kNoValue) refuse(graph, "'" + node.name + "'", part);
      if (!is_of_rows) part_of[output] = part == kNoValue && reads_rows ? output : part;
    }
  }
  for (const auto& [name, value] : graph.outputs())
    if (name.starts_with(GraphBuilder::name_of_next("")) && part_of[value] != kNoValue)
      refuse(graph, "the output '" + name + "'", part_of[value]);
}

}  // namespace troupe
