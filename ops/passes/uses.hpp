#pragma once

#include <algorithm>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The nodes of a graph that read each value, and those that overwrite it. The graph must outlive the object.
class Uses {
 public:
  explicit Uses(const Graph& graph)
      : graph_(graph), readers_(graph.readers()), overwritten_by_(graph.values().size(), -1) {
    for (const auto& node : graph.nodes())
      if (node.op->kind == OpKind::update)
        for (std::size_t k = 0; k < node.outputs.size(); ++k)
          overwritten_by_[graph.root_of(node.inputs[k])] = graph.values()[node.outputs[k]].node;
  }

  /// The indices of the nodes that read a value, in graph order. A node that reads the value twice is listed twice.
  const std::vector<int>& readers_of(ValueId value) const { return readers_[value]; }
  bool is_output(ValueId value) const {
    return std::ranges::any_of(graph_.outputs(), [&](const NamedValue& named) { return named.value == value; });
  }
  /// The index of the only reader of a value; -1 if the value has no reader or several, or is an output of the graph.
  int only_reader(ValueId value) const {
    return readers_[value].size() == 1 && !is_output(value) ? readers_[value][0] : -1;
  }

  /// The index of the node that overwrites the memory of a value, an update; -1 if there is none.
  int overwritten_by(ValueId value) const { return overwritten_by_[graph_.root_of(value)]; }
  /// True if node `from` would read the same elements of `value` at the place of the later node `to`: neither an update
  /// between the two nodes nor `to` itself overwrites them.
  bool same_at(ValueId value, int from, int to) const {
    const auto update = overwritten_by(value);
    return update <= from || update > to;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int>> readers_;  // by value, the nodes that read it
  std::vector<int> overwritten_by_;        // by value that owns memory, the update of that memory or -1
};

}  // namespace troupe
