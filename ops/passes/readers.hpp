#pragma once

#include <algorithm>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Finds values with a single reader. The graph must outlive it.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph), readers_(graph.readers()) {}

  /// The nodes that read a value, in graph order; a node as often as it does.
  const std::vector<int>& of(ValueId value) const { return readers_[value]; }
  bool is_output(ValueId value) const {
    const auto& outputs = graph_.outputs();
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& named) { return named.value == value; });
  }
  /// The index of the only reader of a value, or -1 if there are more or the value is an output of the graph.
  int only_reader(ValueId value) const {
    return readers_[value].size() == 1 && !is_output(value) ? readers_[value][0] : -1;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace troupe
