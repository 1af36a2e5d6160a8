#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Builds one graph from another, node by node: a pass visits the nodes of the old graph in order and copies, drops or
/// replaces each. Values of the old graph are looked up by `mapped`.
class Rewrite {
 public:
  explicit Rewrite(const Graph& old) : old_(old), map_(old.values().size()) {}

  /// The new value in place of an old one.
  Value mapped(ValueId old) const;
  /// Uses `replacement` in place of an old value from now on.
  void map(ValueId old, Value replacement) { map_[old] = replacement; }
  /// Copies the node with its inputs mapped, with changed attributes if given.
  void copy(const Node& node);
  /// For nodes that the old graph does not have.
  GraphBuilder& builder() { return builder_; }
  void copy(const Node& node, std::span<const ValueId> old_inputs, const Attributes& attributes,
            std::span<const ValueId> old_outputs);

  /// The new graph, with the outputs of the old one.
  Graph finish() &&;
  Graph finish_without_outputs() &&;

 private:
  const Graph& old_;
  GraphBuilder builder_;
  std::vector<Value> map_;
};

}  // namespace troupe
