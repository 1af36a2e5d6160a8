#pragma once

#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Knows when updates overwrite parameters. The graph must outlive it.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph), overwritten_by_(graph.values().size(), -1) {
    const auto& nodes = graph.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].op->kind == OpKind::update)
        for (std::size_t k = 0; k < nodes[i].outputs.size(); ++k)
          overwritten_by_[graph.root_of(nodes[i].inputs[k])] = static_cast<int>(i);
  }

  /// The update that overwrites the memory of a value, or -1.
  int overwritten_by(ValueId value) const { return overwritten_by_[graph_.root_of(value)]; }
  /// Whether a node that stands at `from` reads the same there as at a later place `to`.
  bool same_at(ValueId value, int from, int to) const {
    const auto update = overwritten_by(value);
    return update <= from || update > to;
  }

 private:
  const Graph& graph_;
  std::vector<int> overwritten_by_;
};

}  // namespace troupe
