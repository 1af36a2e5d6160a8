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
  /// Adds a copy of a node that reads and gives values of the old graph, and maps its outputs.
  void copy(const Node& node);
  /// Adds a copy of an op node with inputs of the new graph, and maps its outputs.
  void copy(const Node& node, std::span<const Value> inputs);
  /// The builder of the new graph, for nodes without a counterpart in the old graph.
  GraphBuilder& builder() { return builder_; }

  /// The new graph with the outputs of the old one.
  Graph finish() &&;

 private:
  const Graph& old_;
  GraphBuilder builder_;
  std::vector<Value> map_;
};

/// Makes a new graph from an old one by changes of single nodes, in any order. All other nodes stay. The old graph must
/// outlive the object.
class NodeChanges {
 public:
  explicit NodeChanges(const Graph& old) : old_(old), nodes_(old.nodes().begin(), old.nodes().end()) {}

  /// Puts another node in the place of node i. It reads and gives values of the old graph.
  void replace(int i, Node node) { nodes_[i] = std::move(node); }
  /// Leaves out node i. Another node gives its outputs, or no node reads them.
  void drop(int i) { nodes_[i] = {}; }
  /// Leaves out node i. Readers of its first output read `value` instead, which an earlier node gives.
  void drop(int i, ValueId value) {
    drop(i);
    nodes_[i].inputs = {value};
    nodes_[i].outputs = {old_.nodes()[i].outputs[0]};
  }
  /// The new graph, with its nodes in the order of the old ones.
  Graph finish() const;

 private:
  const Graph& old_;
  // The new nodes by old node. A node without op adds nothing; its input, if it has one, stands for its output.
  std::vector<Node> nodes_;
};

}  // namespace troupe
