#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Builds a new graph from an old one. A pass visits the nodes of the old graph in order and copies, drops or replaces
/// each. The old graph must outlive the object.
class Rewrite {
 public:
  explicit Rewrite(const Graph& old) : old_(old), map_(old.values().size()) {}

  /// The new value for an old one. Throws Error if the old value has none.
  Value mapped(ValueId old) const;
  /// Sets the new value for an old one.
  void map(ValueId old, Value replacement) { map_[old] = replacement; }
  /// Copies a node of the old graph, and maps its outputs.
  void copy(const Node& node);
  /// Adds a copy of `node` with the new values for `old_inputs` and other attributes. Its outputs become the new values
  /// for `old_outputs`.
  void copy(const Node& node, std::span<const ValueId> old_inputs, const Attributes& attributes,
            std::span<const ValueId> old_outputs);
  /// The builder of the new graph, for nodes without a counterpart in the old graph.
  GraphBuilder& builder() { return builder_; }

  /// The new graph with the outputs of the old one.
  Graph finish() &&;
  Graph finish_without_outputs() &&;

 private:
  const Graph& old_;
  GraphBuilder builder_;
  std::vector<Value> map_;
};

}  // namespace troupe
