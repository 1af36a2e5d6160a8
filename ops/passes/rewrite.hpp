#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Builds a new graph from an old one. A pass visits the nodes of the old graph in order and copies, drops or replaces
/// each. The old graph must outlive the object.
class Rewrite {
 public:
  explicit Rewrite(const Graph& old) : old_(old), map_(old.values().size()) {}

  /// The new value for an old one. Throws Error if the old value has not been mapped.
  Value mapped(ValueId old) const;
  /// Sets the new value for an old one.
  void map(ValueId old, Value replacement) { map_[old] = replacement; }
  /// Adds a copy of a node of the old graph. Its inputs are replaced by the values to which they are mapped, and its
  /// outputs are mapped to those of the copy.
  void copy(const Node& node);
  /// Adds a copy of a node that is not a source, with `inputs` of the new graph, and maps the outputs of the node to
  /// those of the copy.
  void copy(const Node& node, std::span<const Value> inputs);
  /// The builder of the new graph, for nodes without a counterpart in the old graph.
  GraphBuilder& builder() { return builder_; }

  /// Adds the outputs of the old graph to the new one and returns it. Throws Error if an output has not been mapped.
  Graph finish() &&;

 private:
  const Graph& old_;
  GraphBuilder builder_;
  std::vector<Value> map_;
};

/// Makes a new graph from an old one by changes of single nodes, which may be recorded in any order. Nodes without a
/// change stay. The old graph must outlive the object.
class NodeChanges {
 public:
  explicit NodeChanges(const Graph& old) : old_(old), nodes_(old.nodes().begin(), old.nodes().end()) {}

  /// Puts another node in the place of node i. The inputs and outputs of that node must be values of the old graph.
  void replace(int i, Node node) { nodes_[i] = std::move(node); }
  /// Leaves out node i. The values that it computes must be outputs of a node given to replace(), or be read by no
  /// other node and be no outputs of the graph.
  void drop(int i) { nodes_[i] = {}; }
  /// Leaves out node i. Readers of its first output read `value` instead, which a node before i must compute. Node i
  /// must have one output, or nothing may read the others.
  void drop(int i, ValueId value) {
    drop(i);
    nodes_[i].inputs = {value};
    nodes_[i].outputs = {old_.nodes()[i].outputs[0]};
  }
  /// Applies the changes. The new graph has its nodes in the order of the old graph.
  Graph finish() const;

 private:
  const Graph& old_;
  // For every node of the old graph, by index, the node in its place. A node without an op adds nothing; if it has an
  // input, its output is mapped to the new value of that input.
  std::vector<Node> nodes_;
};

}  // namespace troupe
