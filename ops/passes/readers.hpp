#pragma once

#include <algorithm>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The nodes of a graph that read each value. The graph must outlive the object.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph), readers_(graph.readers()) {}

  /// The nodes that read a value, in graph order; a node that reads it twice comes twice.
  const std::vector<int>& of(ValueId value) const { return readers_[value]; }
  bool is_output(ValueId value) const {
    return std::ranges::any_of(graph_.outputs(), [&](const NamedValue& named) { return named.value == value; });
  }
  /// The only reader of a value; -1 if it has none or several, or is an output of the graph.
  int only_reader(ValueId value) const {
    return readers_[value].size() == 1 && !is_output(value) ? readers_[value][0] : -1;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace troupe
