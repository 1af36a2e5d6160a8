#pragma once

#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The updates of a graph that overwrite each value. The graph must outlive the object.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph), overwritten_by_(graph.values().size(), -1) {
    const auto& nodes = graph.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].op->kind == OpKind::update)
        for (std::size_t k = 0; k < nodes[i].outputs.size(); ++k)
          overwritten_by_[graph.root_of(nodes[i].inputs[k])] = static_cast<int>(i);
  }

  /// The node that updates the memory of a value; -1 if there is none.
  int overwritten_by(ValueId value) const { return overwritten_by_[graph_.root_of(value)]; }
  /// True if node `from` reads the same value after a move to the place of the later node `to`.
  bool same_at(ValueId value, int from, int to) const {
    const auto update = overwritten_by(value);
    return update <= from || update > to;
  }

 private:
  const Graph& graph_;
  std::vector<int> overwritten_by_;  // node by value that owns its memory
};

}  // namespace troupe
